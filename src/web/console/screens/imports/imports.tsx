import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { type ChangeEvent, useId, useMemo, useState } from "react";
import { TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { LAYOUTS } from "../../../../token-files/layouts.js";
import { Choice } from "../../components/field.js";
import { Permitted } from "../../components/loaded.js";
import { Screen } from "../../components/screen.js";
import { FirstRows } from "./first-rows.js";
import { ImportRun } from "./import-run.js";
import { RunningImport } from "./running-import.js";
import type { ChosenFile } from "./token-file.js";

const LAYOUT_NAMES: ReadonlyMap<string, string> = new Map([
  ["stripe", "Stripe"],
  ["spreedly", "Spreedly"],
  ["braintree", "Braintree"],
  ["basis-theory", "Basis Theory"],
  ["vgs", "VGS"],
]);

/** Makes tokens of the rows of a file. */
export default function Imports() {
  return (
    <Screen title="Imports">
      <Permitted operation="TokenService/ImportTokens">
        <ImportFile />
      </Permitted>
    </Screen>
  );
}

function ImportFile() {
  const client = createClient(TokenService, useTransport());
  const [file, setFile] = useState<File | undefined>();
  const [layout, setLayout] = useState("");
  const [running, setRunning] = useState<{ readonly run: ImportRun; readonly chosen: ChosenFile } | undefined>();
  const chosen = useMemo(() => file && { file, layout, repetition: "" }, [file, layout]);
  const begin = (what: ChosenFile) => setRunning({ run: new ImportRun(client, what), chosen: what });
  const leave = () => {
    setRunning(undefined);
    setFile(undefined);
  };
  if (running) {
    return (
      <RunningImport
        key={running.chosen.repetition}
        run={running.run}
        file={running.chosen.file}
        onLeave={leave}
        onRepeat={() => begin({ ...running.chosen, repetition: crypto.randomUUID().slice(0, 8) })}
      />
    );
  }
  return (
    <>
      <p className="quiet">
        Each row of a file becomes a token. This page reads the file and sends it in batches; nothing of it is kept in
        the browser. Files encrypted with PGP, and mappings of your own, are for{" "}
        <a href="/docs/guides/moving-in">the command line</a>.
      </p>
      <div className="form wide">
        <FileField onChange={setFile} />
        <Choice
          label="Layout"
          value={layout}
          options={[
            ["", "As tokens: type, data.number, containers"],
            ...[...LAYOUTS.keys()].map((name): [string, string] => [name, LAYOUT_NAMES.get(name) ?? name]),
          ]}
          onChange={setLayout}
          help="Whose export it is."
        />
      </div>
      {chosen && (
        <FirstRows
          key={`${chosen.file.name} ${chosen.file.size} ${chosen.file.lastModified} ${layout}`}
          chosen={chosen}
          onImport={() => begin(chosen)}
        />
      )}
    </>
  );
}

function FileField({ onChange }: { readonly onChange: (file: File | undefined) => void }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>File</label>
      <input
        id={id}
        type="file"
        accept=".csv,.ndjson,.jsonl"
        aria-describedby={`${id}-help`}
        onChange={({ target }: ChangeEvent<HTMLInputElement>) => onChange(target.files?.[0])}
      />
      <div id={`${id}-help`} className="help">
        CSV with a header, or a JSON object in each line. UTF-8.
      </div>
    </div>
  );
}
