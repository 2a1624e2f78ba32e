//! More than 2,000 inputs from fuzzing, and seeds that real encoders write, each through the same functions as in `fuzz/`: no panic in any thread, no answer that
//! is none, no store changed by what was refused.
//!
//! `COEUS_CORPUS=unpack cargo test --test corpus` lays all of them down in `fuzz/corpus/TARGET/`, `COEUS_CORPUS=pack` makes the archives of what is there.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "hostile/mod.rs"]
mod hostile;
#[path = "corpus/seeds.rs"]
mod seeds;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use hostile::TARGETS;

/// So many files there are at least.
const LEAST: usize = 2000;

static PANICS: AtomicUsize = AtomicUsize::new(0);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn archive(target: &str) -> PathBuf {
    root().join("tests/corpus").join(format!("{target}.gz"))
}

/// The files of an archive: for each its length (u32, big-endian), then its bytes; all of it compressed.
fn unpacked(target: &str) -> Vec<Vec<u8>> {
    let Ok(packed) = std::fs::read(archive(target)) else { return Vec::new() };
    let mut bytes = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    let (mut files, mut rest) = (Vec::new(), &bytes[..]);
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let (file, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        files.push(file.to_vec());
        rest = behind;
    }
    assert!(rest.is_empty(), "{target}: torn");
    files
}

fn pack(target: &str, mut files: Vec<Vec<u8>>) {
    // Alike beside alike, and always in the same order.
    files.sort();
    files.dedup();
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for file in files {
        packed.write_all(&u32::try_from(file.len()).unwrap().to_be_bytes()).unwrap();
        packed.write_all(&file).unwrap();
    }
    std::fs::write(archive(target), packed.finish().unwrap()).unwrap();
}

/// The files of a folder; none if it is not there.
fn files(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect()
}

/// What is tried of a target: what fuzzing found, what encoders write, and what was written by hand.
fn all(target: &str) -> Vec<Vec<u8>> {
    let mut all = unpacked(target);
    all.extend(seeds::of(target));
    all.extend(files(&root().join("fuzz/seeds").join(target)));
    all
}

/// Runs a file; a panic, in whatever thread, is told with what caused it.
fn run(target: &hostile::Target, file: &[u8]) -> Result<(), String> {
    let before = PANICS.load(Ordering::SeqCst);
    let outcome = std::panic::catch_unwind(|| (target.take)(file));
    if outcome.is_ok() && PANICS.load(Ordering::SeqCst) == before {
        return Ok(());
    }
    Err(format!("{}: {:?}", target.name, String::from_utf8_lossy(file)))
}

#[test]
fn nothing_of_the_corpus_does_harm() {
    let asked = std::env::var("COEUS_CORPUS").unwrap_or_default();
    let corpus = |target: &str| root().join("fuzz/corpus").join(target);
    if asked == "unpack" {
        for target in &TARGETS {
            std::fs::create_dir_all(corpus(target.name)).unwrap();
            for (number, file) in all(target.name).iter().enumerate() {
                std::fs::write(corpus(target.name).join(format!("known-{number:05}")), file).unwrap();
            }
        }
        return;
    }
    if asked == "pack" {
        TARGETS.iter().for_each(|target| pack(target.name, files(&corpus(target.name))));
    }
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        hook(info);
    }));
    let dies = |_: &[u8]| drop(std::thread::spawn(|| panic!("as it should")).join());
    let noticed = run(&hostile::Target { name: "a thread that dies", take: dies }, b"");
    assert!(noticed.is_err(), "a panic in another thread would not be noticed");
    let (mut count, mut harmful) = (0, Vec::new());
    for target in &TARGETS {
        let (files, begin) = (all(target.name), std::time::Instant::now());
        count += files.len();
        harmful.extend(files.iter().filter_map(|file| run(target, file).err()));
        println!("{}: {} files in {:?}", target.name, files.len(), begin.elapsed());
    }
    assert!(harmful.is_empty(), "{} of {count} files: {harmful:#?}", harmful.len());
    assert!(count >= LEAST, "only {count} files");
}
