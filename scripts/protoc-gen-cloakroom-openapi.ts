// A plugin for `buf generate` that writes openapi.json. Descriptors have no comments at run time, so the document is
// generated here, from what buf parsed, and committed with the rest of gen/.
import { create, createFileRegistry } from "@bufbuild/protobuf";
import {
  CodeGeneratorResponse_Feature,
  CodeGeneratorResponse_FileSchema,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { runNodeJs } from "@bufbuild/protoplugin";
import { documentOf } from "./openapi/document.js";

runNodeJs({
  name: "protoc-gen-cloakroom-openapi",
  version: "v1",
  run({ protoFile, fileToGenerate }) {
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: protoFile }));
    const files = [...registry.files].filter(({ proto }) => fileToGenerate.includes(proto.name));
    const document = documentOf(files.flatMap(({ services }) => services));
    return create(CodeGeneratorResponseSchema, {
      supportedFeatures: BigInt(CodeGeneratorResponse_Feature.PROTO3_OPTIONAL),
      file: [
        create(CodeGeneratorResponse_FileSchema, {
          name: "openapi.json",
          content: `${JSON.stringify(document, null, 2)}\n`,
        }),
      ],
    });
  },
});
