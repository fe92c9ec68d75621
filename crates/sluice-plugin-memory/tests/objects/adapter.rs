//! Adapters for other people's memory simulators, built, and one requester at a memory behind one.

use sluice_net::{Fabric, FabricConfig, FabricSpec, Group, Length, Library, Part, Standstill};
use sluice_testkit::objects::root;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles an adapter into a file. `more` says how, and where the simulator is.
pub fn compile(source: &str, file: &Path, more: &[String]) {
    let status = Command::new("c++")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root().join("crates/sluice-abi/include"))
        .arg(root().join("examples").join(source))
        .args(more)
        .arg("-o")
        .arg(file)
        .status()
        .expect("a C++ compiler");
    assert!(status.success());
}

/// Builds an adapter as a shared object, as its first lines say.
pub fn build(source: &str, folder: &Path, more: &[String]) -> String {
    let object = folder.join("adapter.so");
    let shared = ["-shared", "-fPIC"].map(str::to_owned);
    compile(source, &object, &[&shared, more].concat());
    object.to_str().expect("text").to_owned()
}

/// Where the stand-ins for simulators are.
pub fn stand_in() -> String {
    let include = root().join("crates/sluice-plugin-memory/tests/objects/standin");
    format!("-I{}", include.display())
}

/// How to compile with a simulator's folder, which has its sources and its library.
pub fn with(folder: &Path, library: &str) -> Vec<String> {
    let at = folder.display();
    let more = [
        format!("-isystem{at}/src"),
        format!("-L{at}"),
        format!("-l{library}"),
        format!("-Wl,-rpath,{at}"),
    ];
    more.to_vec()
}

/// The folder of a simulator that a variable names; none, with a line that says so, otherwise.
pub fn folder(variable: &str, simulator: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        println!("unchecked: {variable} names no folder of {simulator}");
    }
    folder
}

/// A fabric of one requester and one memory behind the adapter.
pub fn fabric(path: &str, argument: &str, set: &[(&str, &str)]) -> Fabric {
    let mut spec = FabricSpec::default();
    let one = [
        ("requester.count", "1"),
        ("endpoint.count", "1"),
        ("topology.kind", "bus"),
    ];
    for (key, value) in one.iter().chain(set) {
        spec.raw.set(key, value).unwrap();
    }
    spec.endpoints.push(Group {
        name: "m".to_owned(),
        set: vec![("type".to_owned(), "external".to_owned())],
        library: Some(Library {
            path: path.to_owned(),
            argument: argument.to_owned(),
        }),
        ..Group::default()
    });
    let config = FabricConfig::new(&spec, 7).unwrap();
    sluice_plugin_memory::fabric(&config).unwrap()
}

/// Runs 20,000 requests after 1000.
pub fn drive(fabric: &mut Fabric) -> Result<(), Standstill> {
    let length = Length {
        warmup: 1_000,
        requests: 20_000,
    };
    fabric.run(length, &mut |_| true)
}

/// A fabric that has done its requests.
pub fn run(path: &str, argument: &str, set: &[(&str, &str)]) -> Fabric {
    let mut fabric = fabric(path, argument, set);
    drive(&mut fabric).unwrap();
    fabric.balance().unwrap();
    assert_eq!((fabric.refused(), fabric.stats().completed()), (0, 20_000));
    fabric
}

/// The mean time in the memory, ps.
pub fn memory(fabric: &Fabric) -> u64 {
    let stats = fabric.stats();
    (stats.parts()[Part::Memory] / u128::from(stats.completed())) as u64
}
