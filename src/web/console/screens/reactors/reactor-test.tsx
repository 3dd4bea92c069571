import { useState } from "react";
import { ReactorService, type TestReactorResponse } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useChange } from "../../api/queries.js";
import { ProblemNote } from "../../components/problem-note.js";
import { textOfBody, textOfValue, valueOfText } from "../../values.js";
import { RunOutput, TestedCalls } from "../code/run-output.js";
import { type Sample, SampleEditor } from "../code/sample-token.js";

interface ReactorTestProps {
  readonly code: string;
  readonly configuration: Readonly<Record<string, string>>;
}

/** Runs code that is not saved, in the real sandbox, with sample arguments. */
export function ReactorTest({ code, configuration }: ReactorTestProps) {
  const test = useChange(ReactorService.method.testReactor);
  const [sample, setSample] = useState<Sample>({ text: '{ "amount": 21 }', isEvaluated: false });
  const [hasNetwork, setNetwork] = useState(false);
  const [result, setResult] = useState<TestReactorResponse | undefined>();
  const args = valueOfText(sample.text);
  if (!test.isAllowed) return null;
  const run = () => {
    if (!args) return;
    setResult(undefined);
    const evaluateTokens = sample.isEvaluated && !hasNetwork;
    test.run(
      { code, args, configuration: { ...configuration }, outside: { network: hasNetwork }, evaluateTokens },
      setResult,
    );
    // Each run with the network is a decision of its own.
    setNetwork(false);
  };
  return (
    <section className="form wide" aria-labelledby="try">
      <h2 id="try">Try it</h2>
      <p className="quiet">Runs in the sandbox and saves nothing.</p>
      <SampleEditor label="Sample arguments" sample={sample} hasNoValues={hasNetwork} onChange={setSample} />
      {!args && <p className="wrong">The sample arguments must be JSON.</p>}
      <div className="checks">
        <label>
          <input type="checkbox" checked={hasNetwork} onChange={() => setNetwork(!hasNetwork)} />
          Send its requests to their real destinations, this time
        </label>
      </div>
      <div>
        <button type="button" disabled={!args || test.isPending} onClick={run}>
          Run
        </button>
      </div>
      {test.problem && <ProblemNote key={test.problem.message} problem={test.problem} />}
      {result && <Result result={result} />}
    </section>
  );
}

function Result({ result }: { result: TestReactorResponse }) {
  const { returned, response, warnings, calls } = result;
  return (
    <div className="stack" role="status">
      {returned && (
        <>
          <h3>Returned</h3>
          <pre className="secret">{textOfValue(returned)}</pre>
        </>
      )}
      {response && (
        <>
          <h3>Its own response, status {response.status}</h3>
          <pre className="secret">{textOfBody(response.body)}</pre>
        </>
      )}
      {warnings.map((text) => (
        <p key={text} className="note">
          {text}
        </p>
      ))}
      <RunOutput {...result} />
      <TestedCalls calls={calls} />
    </div>
  );
}
