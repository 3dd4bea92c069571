//! Generates the messages and clients from the descriptors that `npx buf build` wrote. See README.md.

use prost::Message;
use prost_types::FileDescriptorSet;

const DESCRIPTORS: &str = "cloakroom.binpb";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed={DESCRIPTORS}");
    let bytes = std::fs::read(DESCRIPTORS)
        .map_err(|error| format!("{DESCRIPTORS}: {error}. See README.md"))?;
    tonic_prost_build::configure()
        .build_server(false)
        .include_file("protos.rs")
        .compile_fds(FileDescriptorSet::decode(bytes.as_slice())?)?;
    Ok(())
}
