import { useState } from "react";
import { ProxyService, type TestProxyResponse } from "#client/proto/cloakroom/v1/proxies_pb.js";
import { useChange } from "../../api/queries.js";
import { ProblemNote } from "../../components/problem-note.js";
import { textOfBody, valueOfText } from "../../values.js";
import { CodeEditor } from "../code/code-editor.js";
import { RunOutput, TestedCalls } from "../code/run-output.js";
import { type Sample, SampleEditor } from "../code/sample-token.js";
import { codeTransforms, type ProxyDraft } from "./proxy-draft.js";

interface ProxyTestProps {
  readonly draft: ProxyDraft;
  readonly configuration: Readonly<Record<string, string>>;
}

/** Sends a sample request through transforms that are not saved, to a made-up response or the real destination. */
export function ProxyTest({ draft, configuration }: ProxyTestProps) {
  const test = useChange(ProxyService.method.testProxy);
  const [sample, setSample] = useState<Sample>({ text: '{ "number": "4242424242424242" }', isEvaluated: false });
  const [response, setResponse] = useState('{ "approved": true }');
  const [isReal, setReal] = useState(false);
  const [result, setResult] = useState<TestProxyResponse | undefined>();
  const [sent, responseBody] = [valueOfText(sample.text), valueOfText(response)];
  if (!test.isAllowed) return null;
  const run = () => {
    if (!sent || !responseBody) return;
    setResult(undefined);
    test.run(
      {
        requestTransforms: [...codeTransforms(draft.requestCode)],
        responseTransforms: [...codeTransforms(draft.responseCode)],
        configuration: { ...configuration },
        request: { method: "POST", body: sent, headers: [{ name: "content-type", value: "application/json" }] },
        ...(isReal ? { destinationUrl: draft.destinationUrl } : { answer: { status: 200, body: responseBody } }),
        ...(sample.isEvaluated && !isReal ? { evaluateTokens: true } : {}),
      },
      setResult,
    );
    // Each call of the real destination is a decision of its own.
    setReal(false);
  };
  return (
    <section className="form wide" aria-labelledby="try">
      <h2 id="try">Try it</h2>
      <p className="quiet">Runs in the sandbox and saves nothing. The sample partner answers with what you write.</p>
      <SampleEditor label="Sample request body" sample={sample} hasNoValues={isReal} onChange={setSample} />
      <CodeEditor label="Response body of the sample partner" language="json" value={response} onChange={setResponse} />
      {!(sent && responseBody) && <p className="wrong">Both bodies must be JSON.</p>}
      <div className="checks">
        <label>
          <input type="checkbox" checked={isReal} onChange={() => setReal(!isReal)} />
          Call the real destination in place of the sample partner, this time
        </label>
      </div>
      <div>
        <button type="button" disabled={!(sent && responseBody) || test.isPending} onClick={run}>
          Run
        </button>
      </div>
      {test.problem && <ProblemNote key={test.problem.message} problem={test.problem} />}
      {result && <Result result={result} />}
    </section>
  );
}

function Result({ result: { request, answer: response, error, steps, calls } }: { result: TestProxyResponse }) {
  return (
    <div className="stack" role="status">
      {request && (
        <>
          <h3>Sent to the destination</h3>
          <pre className="secret">{textOfBody(request.body)}</pre>
        </>
      )}
      {response && (
        <>
          <h3>Returned to the caller, status {response.status}</h3>
          <pre className="secret">{textOfBody(response.body)}</pre>
        </>
      )}
      {steps.length === 0 && error && <RunOutput error={error} console={[]} />}
      {steps.map((step) => (
        <div key={step.kind}>
          <h3>Code for {step.kind === "request_transform" ? "requests" : "responses"}</h3>
          <RunOutput {...step} />
        </div>
      ))}
      <TestedCalls calls={calls} />
    </div>
  );
}
