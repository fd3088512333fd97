//! Attempts to break out of the sandbox.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use super::{SandboxFixture, available_isolations, has_landlock, is_installed, user_home};

/// Each line is an attack in Python, with names for what it is after. It must fail.
const ATTACKS: &[&str] = &[
    // The server's environment and memory, by all the ways of /proc.
    "open(f'/proc/{SERVER}/environ', 'rb').read()",
    "open(f'/proc/{SERVER}/task/{SERVER}/environ', 'rb').read()",
    "open(f'/proc/{SERVER}/mem', 'rb').read(0)",
    "open(f'/proc/{SERVER}/mem', 'r+b').read(0)",
    "open(f'/proc/{SERVER}/cmdline', 'rb').read()",
    "open(f'/proc/{SERVER}/maps', 'rb').read()",
    "open(f'/proc/{SERVER}/auxv', 'rb').read()",
    "os.listdir(f'/proc/{SERVER}/fd')",
    "os.readlink(f'/proc/{SERVER}/cwd')",
    "os.readlink(f'/proc/{SERVER}/exe')",
    "open(f'/proc/{SERVER}/root{SECRET}', 'rb').read()",
    "open(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "open('/proc/1/environ', 'rb').read()",
    "os.listdir('/proc')",
    "open('/proc/sys/kernel/core_pattern', 'w')",
    "open('/proc/self/uid_map', 'w').write('0 0 1')",
    "raise_on(libc.ptrace(16, SERVER, 0, 0))",
    // Signals.
    "os.kill(SERVER, 0)",
    "os.kill(SERVER, 23)",
    // Reading elsewhere.
    "open(SECRET, 'rb').read()",
    "open('../outside/secret', 'rb').read()",
    "os.listdir(OUTSIDE)",
    "os.listdir(REAL_HOME)",
    "os.listdir('/tmp')",
    "os.listdir('/')",
    "[os.symlink(SECRET, 'link'), open('link', 'rb').read()]",
    "os.link(SECRET, 'hard')",
    "os.rename(SECRET, 'moved')",
    "open('/etc/shadow', 'rb').read()",
    "subprocess.run(['cat', SECRET], check=True, stderr=subprocess.DEVNULL)",
    // Writing elsewhere.
    "open(SECRET, 'a')",
    "open(SECRET, 'r+')",
    "os.truncate(SECRET, 0)",
    "os.unlink(SECRET)",
    "open(f'{OUTSIDE}/new', 'w')",
    "os.mkdir(f'{OUTSIDE}/new')",
    "open(f'{REAL_HOME}/fluxway-escaped', 'w')",
    "open('/etc/fluxway-escaped', 'w')",
    "open('/usr/fluxway-escaped', 'w')",
    "open('/tmp/fluxway-escaped', 'w')",
    "open('/dev/shm/fluxway-escaped', 'w')",
    "os.rename('attack.py', f'{OUTSIDE}/attack.py')",
    "os.mkfifo(f'{OUTSIDE}/pipe')",
    "socket.socket(socket.AF_UNIX).bind(f'{OUTSIDE}/socket')",
    // Devices and the terminal.
    "os.mknod('device', 0o600 | stat.S_IFBLK, os.makedev(8, 0))",
    "os.mknod('device', 0o600 | stat.S_IFCHR, os.makedev(1, 1))",
    "open('/dev/tty', 'r+')",
    "open('/dev/new', 'w')",
    // Ways out of the sandbox itself.
    "raise_on(libc.mount(b'none', OUTSIDE.encode(), b'tmpfs', 0, 0))",
    "raise_on(libc.prctl(38, 0, 0, 0, 0))",
    "resource.setrlimit(resource.RLIMIT_CORE, (1, 1)) if SERVER_IS_USER else fail()",
    // Inherited file descriptors and variables.
    "os.environ['CARGO_MANIFEST_DIR']",
    "any(is_open(n) for n in range(3, 10)) or fail()",
    "bytearray(5 << 30)",
];

#[test]
fn attacks_are_blocked() {
    if !is_installed("python3") || !has_landlock() {
        return;
    }
    for isolation in available_isolations() {
        let site = SandboxFixture::new();
        let home = user_home();
        let mut text = format!(
            "import ctypes, os, resource, socket, stat, subprocess\n\
             SERVER = {}\nSECRET = {:?}\nOUTSIDE = {:?}\nREAL_HOME = {home:?}\nSERVER_IS_USER = os.getuid() != 0\n\
             libc = ctypes.CDLL(None, use_errno=True)\n\
             def fail(): raise OSError()\n\
             def is_open(n):\n    try: return bool(os.fstat(n))\n    except OSError: return False\n\
             def raise_on(result):\n    if result != 0: fail()\n\
             def attack(text):\n    try:\n        eval(text)\n        print('SUCCEEDED', text)\n    \
             except (OSError, KeyError, ValueError, MemoryError, subprocess.SubprocessError): pass\n",
            std::process::id(),
            site.secret_path(),
            site.outside,
        );
        for attack in ATTACKS {
            writeln!(text, "attack({attack:?})").unwrap();
        }
        text.push_str("print('END')\n");
        let ended = site.write_file("attack.py", &text).run_with_isolation("python3 attack.py", isolation);
        assert_eq!(ended.output.trim(), "END", "{isolation:?}");
        assert_eq!(fs::read_to_string(site.secret_path()).unwrap(), "the seal key");
        assert_eq!(fs::read_dir(&site.outside).unwrap().count(), 1);
    }
}

/// The opposite: each line must succeed.
#[test]
fn program_can_use_allowed_resources() {
    const FACTS: &[&str] = &[
        "libc.prctl(39, 0, 0, 0, 0) == 1",
        "os.environ['HOME'] != REAL_HOME and os.listdir(os.environ['HOME'])",
        "tempfile.gettempdir().startswith(os.environ['HOME'])",
        "stat.S_IMODE(os.stat(os.environ['HOME']).st_mode) == 0o700",
        "not os.environ['HOME'].startswith(os.getcwd())",
        "[k for k in os.environ if k.startswith('CARGO_') and k != 'CARGO_HOME'] == []",
        "os.getuid() == UID and os.getgid() == GID",
        "os.getpgrp() != SERVER_GROUP",
        "resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)",
        "resource.getrlimit(resource.RLIMIT_FSIZE)[1] <= 1 << 30",
        "resource.getrlimit(resource.RLIMIT_DATA)[1] <= 4 << 30",
        "0 < resource.getrlimit(resource.RLIMIT_NPROC)[1] < 1 << 20",
        "sys.stdin.read() == ''",
        "os.cpu_count() >= 1",
        "open('new', 'w').write('x') == 1 and os.rename('new', 'sub/new') is None",
        "open('/dev/null', 'w').write('x') == 1",
        "len(os.urandom(8)) == 8",
        "subprocess.run(['sh', '-c', 'exit 3']).returncode == 3",
        "subprocess.run(['git', 'init', '-q', 'made']).returncode == 0 if GIT else True",
        "socket.socket(socket.AF_INET).bind(('127.0.0.1', 0)) is None",
        "socket.gethostbyname('localhost') != ''",
        "pwd.getpwuid(0).pw_name == 'root'",
        "ssl.create_default_context() is not None",
    ];
    if !is_installed("python3") {
        return;
    }
    let group = rustix::process::getpgrp().as_raw_nonzero();
    let (user, own_group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    for isolation in available_isolations() {
        let site = SandboxFixture::new();
        let home = user_home();
        let mut text = format!(
            "import ctypes, os, pwd, resource, socket, ssl, stat, subprocess, sys, tempfile\n\
             UID, GID, SERVER_GROUP, GIT, REAL_HOME = {user}, {own_group}, {group}, {}, {home:?}\n\
             libc = ctypes.CDLL(None)\n",
            if is_installed("git") { "True" } else { "False" },
        );
        for fact in FACTS {
            writeln!(text, "if not ({fact}): print({fact:?})").unwrap();
        }
        site.write_file("sub/here", "").write_file("facts.py", &text);
        let ended = site.run_with_isolation("python3 facts.py", isolation);
        assert_eq!((ended.code, ended.output.as_str()), (Some(0), ""), "{isolation:?}");
    }
}

/// A repository that refers to outside folders in order to gain access to them.
#[test]
fn repository_cannot_expose_outside_folders() {
    type Prepare = fn(&SandboxFixture);
    let cases: &[(&str, Prepare)] = &[
        ("a link where libraries are", |site| symlink(&site.outside, site.tree.join(".venv/lib")).unwrap()),
        ("a link where settings are", |site| {
            symlink(site.secret_path(), site.tree.join(".venv/pyvenv.cfg")).unwrap();
        }),
        ("settings that name a folder", |site| {
            site.write_file(".venv/pyvenv.cfg", &format!("home = {}\n", site.outside.display()));
        }),
        ("settings that name a file", |site| {
            site.write_file(".venv/pyvenv.cfg", &format!("home = {}\n", site.secret_path().display()));
        }),
        ("a link where programs are", |site| {
            symlink(&site.outside, site.tree.join("node_modules")).unwrap();
            symlink(&site.outside, site.tree.join("venv")).unwrap();
        }),
        ("an interpreter", |site| {
            site.write_script(".venv/bin/other", &format!("#!{}\n", site.secret_path().display()));
        }),
        ("a path that climbs", |site| {
            let real = site.tree.join(".venv/bin/sh");
            symlink("../../../outside/../../../../../../../../../../bin/sh", real).unwrap();
        }),
    ];
    if !has_landlock() {
        return;
    }
    for (name, prepare) in cases {
        let site = SandboxFixture::new();
        let look = format!(
            "#!/bin/sh\ncat {0} {1}/*/* {1}/* && echo SEEN\n",
            site.secret_path().display(),
            site.outside.display()
        );
        site.write_script(".venv/bin/look", &look);
        prepare(&site);
        let ended = site.run("look");
        assert!(!ended.output.contains("the seal key"), "{name}: {}", ended.output);
        assert_eq!(ended.code, Some(1), "{name}: {}", ended.output);
    }
}
