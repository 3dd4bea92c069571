import type { JsonObject } from "@bufbuild/protobuf";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { type Webhook, type WebhookDelivery, WebhookService } from "#client/proto/cloakroom/v1/webhooks_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Choice } from "../../components/field.js";
import { Empty, Loaded } from "../../components/loaded.js";
import { Overlay } from "../../components/overlay.js";
import { OffsetPages, usePageNumber } from "../../components/pages.js";
import { ProblemNote } from "../../components/problem-note.js";
import { DetailList, Table } from "../../components/table.js";
import { Time } from "../../components/time.js";
import { useLooks } from "../../use-looks.js";
import { WebhookState } from "./webhook-state.js";

const STATES = [
  ["", "Every state"],
  ["waiting", "waiting"],
  ["delivered", "delivered"],
  ["failed", "failed"],
] as const;

/** What was sent to a webhook in the last 30 days, and how it ended. */
export function Deliveries({ webhook: { id, status } }: { webhook: Webhook }) {
  const [params, setParams] = useSearchParams();
  const state = STATES.find(([name]) => name === params.get("state"))?.[0] ?? "";
  const filter = state === "" ? {} : { state };
  const deliveries = useRead(WebhookService.method.listWebhookDeliveries, { id, page: usePageNumber(), ...filter });
  const test = useChange(WebhookService.method.testWebhook);
  const replay = useChange(WebhookService.method.replayWebhookDelivery);
  const [shown, setShown] = useState<string | undefined>();
  const look = useLooks(deliveries.refetch);
  const isEnabled = status === "enabled";
  const problem = test.problem ?? replay.problem;
  return (
    <section aria-labelledby="deliveries">
      <div className="screen-head">
        <h2 id="deliveries">Deliveries of the last 30 days</h2>
        <div className="actions">
          <button type="button" disabled={deliveries.isFetching} onClick={deliveries.refetch}>
            Refresh
          </button>
          {test.isAllowed && (
            <button type="button" disabled={test.isPending || !isEnabled} onClick={() => test.run({ id }, look)}>
              Send a test event
            </button>
          )}
        </div>
      </div>
      {problem && <ProblemNote key={problem.message} problem={problem} />}
      <div className="filters">
        <Choice
          label="State"
          value={state}
          options={STATES}
          onChange={(chosen) => setParams(chosen === "" ? { id } : { id, state: chosen })}
        />
      </div>
      <Loaded read={deliveries}>
        {({ data, pagination }) => (
          <>
            {data.length === 0 ? (
              <Empty>
                <p>{state === "" ? "Nothing was sent yet." : "No delivery is in this state."}</p>
              </Empty>
            ) : (
              <DeliveryTable
                deliveries={data}
                onShow={setShown}
                {...(replay.isAllowed && isEnabled
                  ? { onReplay: (eventId: string) => replay.run({ id, eventId }, look) }
                  : {})}
              />
            )}
            <OffsetPages page={pagination} />
          </>
        )}
      </Loaded>
      {shown !== undefined && <Delivery id={id} eventId={shown} onClose={() => setShown(undefined)} />}
    </section>
  );
}

interface DeliveryTableProps {
  readonly deliveries: readonly WebhookDelivery[];
  readonly onShow: (eventId: string) => void;
  readonly onReplay?: (eventId: string) => void;
}

function DeliveryTable({ deliveries, onShow, onReplay }: DeliveryTableProps) {
  return (
    <Table
      label="Deliveries"
      rows={deliveries}
      keyOf={({ eventId }) => eventId}
      columns={[
        { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { head: "Event", cell: ({ eventType }) => <code>{eventType}</code> },
        { head: "State", cell: ({ state }) => <WebhookState status={state} /> },
        { head: "Response", cell: (delivery) => <Response {...delivery} /> },
        { head: "Attempts", isNumber: true, cell: ({ attempts }) => attempts },
        {
          head: "Actions",
          cell: ({ eventId, state }) => (
            <div className="actions">
              <button type="button" onClick={() => onShow(eventId)}>
                Show
              </button>
              {onReplay && state !== "waiting" && (
                <button type="button" onClick={() => onReplay(eventId)}>
                  Send again
                </button>
              )}
            </div>
          ),
        },
      ]}
    />
  );
}

/** The status of the last attempt, and why it failed. */
function Response({ responseStatus, problem }: Pick<WebhookDelivery, "responseStatus" | "problem">) {
  return (
    <>
      {responseStatus} {problem && <span className="quiet">{problem}</span>}
    </>
  );
}

interface DeliveryProps {
  readonly id: string;
  readonly eventId: string;
  readonly onClose: () => void;
}

function Delivery({ id, eventId, onClose }: DeliveryProps) {
  const delivery = useRead(WebhookService.method.getWebhookDelivery, { id, eventId });
  return (
    <Overlay title="Delivery" onClose={onClose}>
      <Loaded read={delivery} lines={8}>
        {(found) => (
          <>
            <DetailList
              pairs={[
                ["Event", <code key="id">{eventId}</code>],
                ["State", <WebhookState key="state" status={found.state} />],
                ["Response", <Response key="response" {...found} />],
                ["Last attempt", found.attemptedAt && <Time key="last" at={found.attemptedAt} />],
                ["Next attempt", found.nextAttemptAt && <Time key="next" at={found.nextAttemptAt} />],
              ]}
            />
            <EventText event={found.event} />
          </>
        )}
      </Loaded>
      <div className="actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Overlay>
  );
}

function EventText({ event }: { event: JsonObject | undefined }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard (WCAG 2.1.1)
    <section className="scroll" aria-label="Event" tabIndex={0}>
      <pre className="secret">{JSON.stringify(event, undefined, 2)}</pre>
    </section>
  );
}
