import { useState } from "react";
import { useLocation } from "wouter";
import { type Connection, ConnectionService } from "#client/proto/cloakroom/v1/connections_pb.js";
import { TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { TransactionService } from "#client/proto/cloakroom/v1/transactions_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { entityAddress } from "../../components/entity-link.js";
import { Choice, TextField } from "../../components/field.js";
import { Form } from "../../components/form.js";
import { Loaded, Permitted } from "../../components/loaded.js";
import { ProblemNote } from "../../components/problem-note.js";
import { Screen } from "../../components/screen.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { valueOfText } from "../../values.js";
import { formatMoney } from "./money.js";
import { AMOUNTS, CARDS, SIMULATOR } from "./simulator-cards.js";

/** The cards of tries need no cleaning up. */
const CARD_LIVES_MS = 24 * 60 * 60_000;

export function TryPayment() {
  const pay = useChange(TransactionService.method.createTransaction);
  const connections = useRead(ConnectionService.method.listConnections, {});
  return (
    <Screen title="Try a payment">
      <p className="quiet">
        The simulator is a payment service that moves no money. Its cards and amounts stand for what happens at real
        ones.
      </p>
      <Permitted operation={pay.operation}>
        <Loaded read={connections}>
          {({ data }) => {
            const found = data.find(({ connectionFormulaId, active }) => active && connectionFormulaId === SIMULATOR);
            return found ? <TryForm connection={found} /> : <Connect />;
          }}
        </Loaded>
      </Permitted>
    </Screen>
  );
}

function Connect() {
  const connect = useChange(ConnectionService.method.createConnection);
  const run = () =>
    connect.run({
      connectionFormulaId: SIMULATOR,
      method: "card",
      displayName: "Simulator",
      fields: [{ key: "merchant_id", value: "console" }],
      acceptedCountries: ["US"],
      acceptedCurrencies: ["USD", "EUR", "GBP", "JPY"],
    });
  return (
    <div className="form">
      <p>This tenant has no connection to the simulator yet.</p>
      {connect.problem && <ProblemNote key={connect.problem.message} problem={connect.problem} />}
      <button type="button" className="primary" disabled={connect.isPending} onClick={run}>
        Connect the simulator
      </button>
    </div>
  );
}

interface TryDraft {
  readonly card: string;
  readonly amount: string;
  readonly currency: string;
  readonly intent: "authorize" | "capture";
}

const INTENTS: readonly (readonly [TryDraft["intent"], string])[] = [
  ["authorize", "Authorize: capture or void it later"],
  ["capture", "Capture at once"],
];

function TryForm({ connection: { id, acceptedCurrencies } }: { connection: Connection }) {
  const [draft, set] = useDraft<TryDraft>({
    card: "4242424242424242",
    amount: "1000",
    intent: "authorize",
    currency: acceptedCurrencies[0] ?? "USD",
  });
  const { run, isPending, problem } = useTry(id, draft);
  const field = bindFields(draft, set);
  const isWrong = !/^\d{1,15}$/.test(draft.amount);
  return (
    <Form className="form" onSubmit={() => !isWrong && run()}>
      {problem && <ProblemNote key={problem.message} problem={problem} />}
      <Choice
        label="Card"
        {...field("card")}
        options={CARDS.map(([number, effect]) => [number, `${spaced(number)}: ${effect}`])}
      />
      <TextField
        label="Amount in minor units"
        {...field("amount")}
        isRequired
        help={isWrong ? undefined : formatMoney(BigInt(draft.amount), draft.currency)}
        problem={isWrong ? "must be a whole number, such as 1050 for 10.50" : undefined}
      />
      <fieldset>
        <legend>Amounts with an effect</legend>
        {AMOUNTS.map(([amount, effect]) => (
          <div key={amount}>
            <button type="button" onClick={() => set("amount")(amount)}>
              {amount}
            </button>{" "}
            {effect}
          </div>
        ))}
      </fieldset>
      <Choice
        label="Currency"
        {...field("currency")}
        options={acceptedCurrencies.map((currency) => [currency, currency])}
      />
      <Choice label="Intent" {...field("intent")} options={INTENTS} />
      <button type="submit" className="primary" disabled={isPending || isWrong}>
        Pay
      </button>
    </Form>
  );
}

/** Stores the card, pays with it, and shows the payment. */
function useTry(connectionId: string, { card, amount, currency, intent }: TryDraft) {
  const [, navigate] = useLocation();
  const store = useChange(TokenService.method.createToken);
  const pay = useChange(TransactionService.method.createTransaction);
  // A card that was stored and could not be charged is charged by the next try.
  const [stored, setStored] = useState<{ readonly card: string; readonly token: string }>();
  const charge = (token: string) =>
    pay.run({ connectionId, token, currency, intent, amount: BigInt(amount) }, ({ id }) =>
      navigate(entityAddress("/payments", id)),
    );
  const run = () => {
    store.reset();
    pay.reset();
    if (stored?.card === card) {
      charge(stored.token);
      return;
    }
    const nextYear = new Date().getFullYear() + 1;
    const data = { number: card, expiration_month: 12, expiration_year: nextYear, cvc: "123" };
    const value = valueOfText(JSON.stringify(data));
    const expiresAt = new Date(Date.now() + CARD_LIVES_MS).toISOString();
    store.run({ type: "card", ...(value ? { data: value } : {}), expiresAt }, ({ id: token }) => {
      setStored({ card, token });
      charge(token);
    });
  };
  return { run, isPending: store.isPending || pay.isPending, problem: store.problem ?? pay.problem };
}

function spaced(number: string): string {
  return number.replace(/(\d{4})(?=\d)/g, "$1 ");
}
