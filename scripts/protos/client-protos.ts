import { readdirSync, readFileSync } from "node:fs";
import type { PackedFile } from "../release/tar.js";
import { stripOptions } from "./strip-options.js";

/** What the protos of the API import, and the bodies of errors. */
const FURTHER = [
  "googleapis/google/api/httpbody.proto",
  "googleapis/google/rpc/error_details.proto",
  "googleapis/google/rpc/status.proto",
  // Debian's protoc comes without them.
  ...["any", "duration", "empty", "field_mask", "struct", "timestamp"].map(
    (name) => `protobuf/google/protobuf/${name}.proto`,
  ),
];

const README = `The protos of the Cloakroom API, for generating clients with any compiler of protobuf:

    protoc -I . --python_out=out cloakroom/v1/*.proto
    python -m grpc_tools.protoc -I . --python_out=out --grpc_python_out=out cloakroom/v1/*.proto
    buf generate .

Every import is inside. Options that only the server reads are left out:
validation, permissions, and the paths of REST. google/rpc has the details of errors (grpc-status-details-bin).
License: Apache-2.0.
`;

/** The files of the archive, below `cloakroom-protos/`. */
export function clientProtos(): readonly PackedFile[] {
  const folder = "proto/cloakroom/v1";
  const ours = readdirSync(folder).filter((name) => name.endsWith(".proto") && name !== "options.proto");
  const files = [
    ...ours.map((name) => [`cloakroom/v1/${name}`, stripOptions(readFileSync(`${folder}/${name}`, "utf8"))]),
    ...FURTHER.map((path) => [path.slice(path.indexOf("/") + 1), readFileSync(`third_party/${path}`, "utf8")]),
    ["buf.yaml", "version: v2\n"],
    ["README.txt", README],
    ["LICENSE", readFileSync("LICENSE", "utf8")],
  ];
  return files.map(([path, text = ""]) => ({ path: `cloakroom-protos/${path}`, content: Buffer.from(text) }));
}
