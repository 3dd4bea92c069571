import { Link, useSearchParams } from "wouter";
import { TransactionService } from "#client/proto/cloakroom/v1/transactions_pb.js";
import { useRead } from "../../api/queries.js";
import { entityAddress } from "../../components/entity-link.js";
import { Choice } from "../../components/field.js";
import { Listing } from "../../components/listing.js";
import { Empty } from "../../components/loaded.js";
import { usePageNumber } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
import { formatMoney } from "./money.js";
import { StatusTag } from "./status-tag.js";

const STATUSES: readonly (readonly [string, string])[] = [
  ["", "Every status"],
  ...[
    ...["processing", "buyer_approval_pending", "authorization_succeeded", "authorization_failed"],
    ...["authorization_declined", "capture_pending", "capture_succeeded"],
    ...["authorization_void_pending", "authorization_voided"],
  ].map((status) => [status, status.replaceAll("_", " ")] as const),
];

export function PaymentList() {
  const [params, setParams] = useSearchParams();
  const status = params.get("status") ?? "";
  const payments = useRead(TransactionService.method.listTransactions, {
    page: usePageNumber(),
    size: 50,
    ...(status === "" ? {} : { status }),
  });
  const canTry = useSession().can("TransactionService/CreateTransaction");
  return (
    <Screen title="Payments" actions={canTry && <TryLink />}>
      <div className="filters">
        <Choice
          label="Status"
          value={status}
          options={STATUSES}
          onChange={(chosen) => setParams(chosen === "" ? {} : { status: chosen })}
        />
      </div>
      <Listing
        read={payments}
        lines={8}
        page={payments.data?.pagination}
        label="Payments"
        none={
          <Empty>
            <p>{status === "" ? "There are no payments." : "No payment has this status."}</p>
            <a href="/docs/guides/payments" className="button">
              Read how to charge a token
            </a>
          </Empty>
        }
        columns={[
          { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            head: "Amount",
            isNumber: true,
            cell: ({ id, amount, currency }) => (
              <Link href={entityAddress("/payments", id)}>{formatMoney(amount, currency)}</Link>
            ),
          },
          { head: "Status", cell: (payment) => <StatusTag status={payment.status} /> },
          { head: "Card", cell: ({ paymentMethod }) => cardLabel(paymentMethod) },
          { head: "By", cell: ({ connection }) => connection?.displayName },
        ]}
      />
    </Screen>
  );
}

function TryLink() {
  return (
    <Link href="/payments?try=1" className="button">
      Try a payment
    </Link>
  );
}

function cardLabel(method: { scheme?: string | undefined; label?: string | undefined } | undefined): string {
  return [method?.scheme, method?.label && `…${method.label}`].filter(Boolean).join(" ");
}
