//! Indexes the shipped documentation, so that the first question waits for nothing.
//!
//! This is the build script, and stands here because it shares the crate's own modules. That they are compiled once more
//! costs seconds; a finished index in the repository would have to be renewed with every change of a page.

#![expect(clippy::unwrap_used, reason = "what cannot be indexed must end the build")]
#![expect(clippy::disallowed_methods, reason = "it runs in the repository, before there is a program")]
#![expect(dead_code, unreachable_pub, reason = "the modules also have what only a search needs")]

mod bytes;
mod document;
mod encoder;
mod index;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use document::Document;
use encoder::Encoder;
use index::Index;

fn main() {
    let home = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
    let table = home.join("model/tokens.bin");
    let mut pages = Vec::new();
    read_pages(&home.join("corpus"), "", &mut pages);
    let encoder = Encoder::new(fs::read(&table).unwrap()).unwrap();
    fs::write(out.join("shipped.index"), Index::build(&pages, &encoder).unwrap().bytes()).unwrap();
    println!("cargo::rustc-env=TOKEN_TABLE={}", table.display());
    for watched in ["src", "corpus", "model/tokens.bin"] {
        println!("cargo::rerun-if-changed={watched}");
    }
}

fn read_pages(folder: &Path, prefix: &str, pages: &mut Vec<Document>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            read_pages(&entry.path(), &format!("{path}/"), pages);
        } else if entry.path().extension().is_some_and(|ending| ending == "md" || ending == "mdx") {
            pages.push(Document::parse(path, fs::read_to_string(entry.path()).unwrap()));
        }
    }
}
