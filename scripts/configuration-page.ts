import type { Setting } from "../src/settings/setting.js";
import { SETTING_GROUPS } from "../src/settings/settings.js";

const INTRODUCTION = `# Configuration

<!-- \`npm run generate\` writes this page from src/settings. Do not edit it by hand. -->

Cloakroom reads these environment variables once, at the start. An unknown \`CLOAKROOM_\` name, an empty value or a value out of its
bounds stops the start with one line that names the variable. [operations.md](operations.md) explains how the settings work together.

Each variable marked *secret* can come as a file instead: set the same name with \`_FILE\` to the path of a file that contains the value,
as \`CLOAKROOM_SMTP_URL_FILE=/run/secrets/smtp\` does. Setting both is an error. Messages and logs never show secrets.

Standard variables of OpenTelemetry turn traces on: \`OTEL_EXPORTER_OTLP_ENDPOINT\`, or \`OTEL_TRACES_EXPORTER\` with \`otlp\` or
\`console\`. \`OTEL_EXPORTER_OTLP_PROTOCOL\` is \`http/protobuf\` or \`http/json\`, not \`grpc\`. \`OTEL_EXPORTER_OTLP_HEADERS\` and the
exporter's others, \`OTEL_SERVICE_NAME\`, \`OTEL_RESOURCE_ATTRIBUTES\`, \`OTEL_TRACES_SAMPLER\` and \`OTEL_BSP_*\` are read too. The AWS SDK
reads its own variables for KMS.
`;

/** The text of docs/configuration.md: every setting with its type, default and meaning, by topic. */
export function configurationPage(): string {
  const sections = SETTING_GROUPS.map(({ title, settings }) =>
    [
      `## ${title}\n`,
      "| Variable | Type | Default | Meaning |",
      "|---|---|---|---|",
      ...Object.entries(settings).map(([name, setting]) => rowOf(name, setting)),
      "",
    ].join("\n"),
  );
  return [INTRODUCTION, ...sections].join("\n");
}

function rowOf(name: string, setting: Setting): string {
  return `| \`${name}\` | ${typeOf(setting)} | ${defaultOf(setting)} | ${setting.meaning} |`;
}

function typeOf(setting: Setting): string {
  switch (setting.kind) {
    case "text":
    case "optional":
      return setting.format;
    case "secret":
      return `${setting.format}, *secret*`;
    case "whole":
    case "optional_whole":
      return `whole number, ${figure(setting.least)} to ${figure(setting.most)}`;
  }
}

function defaultOf(setting: Setting): string {
  switch (setting.kind) {
    case "text":
      return `\`${setting.byDefault}\``;
    case "whole":
      return `\`${setting.byDefault}\``;
    case "optional":
    case "secret":
    case "optional_whole":
      return setting.otherwise;
  }
}

/** A number with thousands separators for readers. Values are set without separators. */
function figure(number: number): string {
  return number.toLocaleString("en-US");
}
