// Prints buf/validate/validate.proto into .deps from the descriptor that @bufbuild/protovalidate ships: no npm package
// contains the text, and buf must not need the schema registry. The CEL of the standard rules is omitted; generated
// code imports the package's own descriptor, so the text is only needed to resolve names.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  type DescEnum,
  type DescExtension,
  type DescField,
  type DescFile,
  type DescMessage,
  ScalarType,
} from "@bufbuild/protobuf";
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

const target = new URL("../.deps/buf/validate/validate.proto", import.meta.url);

function valueType(field: DescField | DescExtension): string {
  if (field.message) return `.${field.message.typeName}`;
  if (field.enum) return `.${field.enum.typeName}`;
  return ScalarType[field.scalar ?? ScalarType.STRING].toLowerCase();
}

function printField(field: DescField | DescExtension): string {
  if (field.fieldKind === "map") {
    return `map<${ScalarType[field.mapKey].toLowerCase()}, ${valueType(field)}> ${field.name} = ${field.number};`;
  }
  const inOneof = field.kind === "field" && field.oneof !== undefined;
  const label = field.fieldKind === "list" ? "repeated " : inOneof ? "" : "optional ";
  return `${label}${valueType(field)} ${field.name} = ${field.number};`;
}

function printEnum(desc: DescEnum): string[] {
  return [`enum ${desc.name} {`, ...desc.values.map((value) => `${value.name} = ${value.number};`), "}"];
}

function printMessage(desc: DescMessage): string[] {
  return [
    `message ${desc.name} {`,
    ...desc.proto.extensionRange.map(
      (range) => `extensions ${range.start} to ${range.end >= 536_870_912 ? "max" : range.end - 1};`,
    ),
    ...desc.nestedEnums.flatMap(printEnum),
    ...desc.nestedMessages.flatMap(printMessage),
    ...desc.members.flatMap((member) =>
      member.kind === "oneof"
        ? [`oneof ${member.name} {`, ...member.fields.map(printField), "}"]
        : [printField(member)],
    ),
    "}",
  ];
}

function printFile(file: DescFile): string {
  return [
    'syntax = "proto2";',
    `package ${file.proto.package};`,
    ...file.proto.dependency.map((path) => `import "${path}";`),
    ...file.enums.flatMap(printEnum),
    ...file.messages.flatMap(printMessage),
    ...file.extensions.flatMap((extension) => [`extend .${extension.extendee.typeName} {`, printField(extension), "}"]),
    "",
  ].join("\n");
}

mkdirSync(dirname(target.pathname), { recursive: true });
writeFileSync(target, printFile(file_buf_validate_validate));
