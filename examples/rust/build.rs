//! Generates the messages and clients from the protos of a vault. See README.md.

const PROTOS: &str = "cloakroom-protos";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed={PROTOS}");
    let folder = std::fs::read_dir(format!("{PROTOS}/cloakroom/v1"))
        .map_err(|error| format!("{PROTOS}: {error}. See README.md"))?;
    let files: Vec<_> = folder.map(|entry| entry.map(|file| file.path())).collect::<Result<_, _>>()?;
    tonic_prost_build::configure()
        .build_server(false)
        .include_file("protos.rs")
        .compile_fds(protox::compile(files, [PROTOS])?)?;
    Ok(())
}
