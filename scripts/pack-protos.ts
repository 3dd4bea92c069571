// Packs the protos for clients into dist/protos.tar.gz, which the server shows at /protos.tar.gz and the release copies.
import { writeFileSync } from "node:fs";
import { clientProtos } from "./protos/client-protos.js";
import { tarGz } from "./release/tar.js";

writeFileSync("dist/protos.tar.gz", tarGz(clientProtos(), 0));
