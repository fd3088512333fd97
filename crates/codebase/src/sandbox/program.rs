//! Locates a program and the files it needs to start.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Limit on links and interpreters to follow.
const MAX_RESOLVE_STEPS: usize = 24;

/// What a program needs from its installation prefix. Not the whole folder: the repository can name any
/// folder through a link or a shebang line, and it may contain unrelated files.
const INSTALL_SUBPATHS: [&str; 9] =
    ["bin", "lib", "lib64", "libexec", "include", "shims", "ssl", "conf", "pyvenv.cfg"];

/// Finds a program like `execvp`. Names with a slash are resolved relative to the folder it will run in.
pub(super) fn find_program(name: &str, folder: &Path, path: &[PathBuf]) -> io::Result<PathBuf> {
    let mut refused = false;
    let candidates: Vec<PathBuf> = if name.contains('/') {
        vec![folder.join(name)]
    } else {
        path.iter().map(|place| place.join(name)).collect()
    };
    for candidate in candidates {
        match is_executable(&candidate) {
            Some(true) => return Ok(candidate),
            Some(false) => refused = true,
            None => {}
        }
    }
    let kind = if refused { io::ErrorKind::PermissionDenied } else { io::ErrorKind::NotFound };
    Err(kind.into())
}

/// Whether a file is executable; `None` if it does not exist.
#[expect(clippy::disallowed_methods, reason = "programs are not part of a tree")]
fn is_executable(path: &Path) -> Option<bool> {
    let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(file.permissions().mode() & 0o111 != 0)
}

/// Resolves links and `..` in all components except the last. The file itself may be a link.
#[expect(clippy::disallowed_methods, reason = "programs are not part of a tree")]
pub(super) fn canonicalize_parent(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

/// Everything that must be readable for a program to start: the program, the targets of its links, its
/// interpreter, and the installation of each.
pub(super) fn required_paths(program: &Path, path: &[PathBuf]) -> Vec<PathBuf> {
    let mut needed = Vec::new();
    let mut queue = vec![program.to_owned()];
    for _ in 0..MAX_RESOLVE_STEPS {
        let Some(file) = queue.pop() else { break };
        // Naming a file that is not a program, such as a link to a database, does not grant access to it.
        let Some(file) = canonicalize_parent(&file).filter(|file| is_executable(file) == Some(true)) else {
            continue;
        };
        if let Some(prefix) = install_prefix(&file) {
            needed.extend(INSTALL_SUBPATHS.map(|part| prefix.join(part)));
            queue.extend(venv_base_interpreter(prefix));
        }
        if let Ok(target) = fs::read_link(&file) {
            queue.push(file.parent().unwrap_or(Path::new("/")).join(target));
        } else {
            queue.extend(script_interpreter(&file, path));
        }
        needed.push(file);
    }
    needed
}

/// The installation prefix of a program, if it has the usual layout.
fn install_prefix(program: &Path) -> Option<&Path> {
    let folder = program.parent()?;
    let is_usual = matches!(folder.file_name()?.to_str()?, "bin" | "sbin" | "shims" | "libexec");
    folder.parent().filter(|_| is_usual)
}

/// The base interpreter of a Python virtual environment.
fn venv_base_interpreter(prefix: &Path) -> Option<PathBuf> {
    let settings = read_beginning(&prefix.join("pyvenv.cfg"), 4096)?;
    let home = settings.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "home").then(|| PathBuf::from(value.trim()))
    })?;
    ["python3", "python"].map(|name| home.join(name)).into_iter().find(|it| is_executable(it) == Some(true))
}

/// The interpreter in the shebang line of a script.
fn script_interpreter(script: &Path, path: &[PathBuf]) -> Option<PathBuf> {
    let line = read_beginning(script, 512)?;
    let mut words = line.strip_prefix("#!")?.lines().next()?.split_whitespace();
    let named = PathBuf::from(words.next()?);
    if named.file_name()? != "env" {
        return Some(named);
    }
    let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    find_program(name, Path::new("/"), path).ok()
}

#[expect(clippy::disallowed_methods, reason = "programs are not part of a tree")]
fn read_beginning(path: &Path, most: u64) -> Option<String> {
    // Opening a pipe would block.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = Vec::new();
    File::open(path).ok()?.take(most).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
