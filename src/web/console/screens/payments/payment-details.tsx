import { Link } from "wouter";
import { parseUrl } from "#client/parse-url.js";
import { type Transaction, TransactionService } from "#client/proto/cloakroom/v1/transactions_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { entityAddress } from "../../components/entity-link.js";
import { Listing } from "../../components/listing.js";
import { Loaded } from "../../components/loaded.js";
import { ProblemNote } from "../../components/problem-note.js";
import { Screen } from "../../components/screen.js";
import { DetailList } from "../../components/table.js";
import { Name, WholeId } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { formatMoney } from "./money.js";
import { RefundPayment } from "./refund-payment.js";
import { StatusTag } from "./status-tag.js";

export function PaymentDetails({ id }: { id: string }) {
  const payment = useRead(TransactionService.method.getTransaction, { id });
  const refunds = useRead(TransactionService.method.listRefunds, { id });
  return (
    <Screen title="Payment" actions={payment.data && <Actions payment={payment.data} />}>
      <Loaded read={payment} lines={10}>
        {(found) => <Facts payment={found} />}
      </Loaded>
      <section aria-labelledby="refunds">
        <h2 id="refunds">Refunds</h2>
        <Listing
          read={refunds}
          lines={2}
          label="Refunds"
          none={<p className="quiet">None.</p>}
          columns={[
            { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
            { head: "Amount", isNumber: true, cell: ({ amount, currency }) => formatMoney(amount, currency) },
            { head: "Status", cell: ({ status }) => <StatusTag status={status} /> },
            { head: "Reason", cell: ({ reason }) => <bdi dir="auto">{reason}</bdi> },
          ]}
        />
      </section>
    </Screen>
  );
}

function Facts({ payment }: { payment: Transaction }) {
  const { id, currency, amount, authorizedAmount, capturedAmount, refundedAmount, paymentMethod, connection } = payment;
  const token = paymentMethod?.token;
  return (
    <>
      <DetailList
        pairs={[
          ["Id", <WholeId key="id">{id}</WholeId>],
          ["Status", <StatusTag key="status" status={payment.status} />],
          ["Amount", formatMoney(amount, currency)],
          ["Authorized", formatMoney(authorizedAmount, currency)],
          ["Captured", formatMoney(capturedAmount, currency)],
          ["Refunded", formatMoney(refundedAmount, currency)],
          ["Connection", connection?.displayName],
          ["Token", token && <TokenLink key="token" id={token} />],
          ["Your reference", payment.externalIdentifier],
          ["Response", payment.rawResponseDescription ?? payment.rawResponseCode],
          ["Error", payment.errorCode],
        ]}
      />
      {payment.status === "buyer_approval_pending" && <Approval url={paymentMethod?.approvalUrl} />}
      <section aria-labelledby="timeline">
        <h2 id="timeline">Timeline</h2>
        <DetailList
          pairs={[
            ["Created", <Time key="created" at={payment.createdAt} />],
            ["Authorized", payment.authorizedAt && <Time key="authorized" at={payment.authorizedAt} />],
            ["Captured", payment.capturedAt && <Time key="captured" at={payment.capturedAt} />],
            ["Voided", payment.voidedAt && <Time key="voided" at={payment.voidedAt} />],
            ["Last change", <Time key="updated" at={payment.updatedAt} />],
          ]}
        />
      </section>
    </>
  );
}

/** The page at which the cardholder approves. Only the simulator's is of use to anyone else. */
function Approval({ url }: { url: string | undefined }) {
  if (url === undefined || !/^https?:$/.test(parseUrl(url)?.protocol ?? "")) return null;
  return (
    <div className="note">
      <p>The cardholder must approve this payment.</p>
      <a className="button" href={url} target="_blank" rel="noopener noreferrer">
        Open the cardholder's page in another tab
      </a>
    </div>
  );
}

function TokenLink({ id }: { id: string }) {
  return (
    <Link href={entityAddress("/tokens", id)}>
      <Name>{id}</Name>
    </Link>
  );
}

function Actions({ payment }: { payment: Transaction }) {
  const capture = useChange(TransactionService.method.captureTransaction);
  const release = useChange(TransactionService.method.voidTransaction);
  const sync = useChange(TransactionService.method.syncTransaction);
  const { id, status, amount, currency } = payment;
  const isAuthorized = status === "authorization_succeeded";
  const isOpen = /pending|processing/.test(status);
  return (
    <>
      {sync.problem && <ProblemNote key={sync.problem.message} problem={sync.problem} />}
      {isOpen && sync.isAllowed && (
        <button type="button" disabled={sync.isPending} onClick={() => sync.run({ id })}>
          Ask the payment service
        </button>
      )}
      {isAuthorized && capture.isAllowed && (
        <Confirm
          action="Capture"
          title="Capture this payment?"
          problem={capture.problem}
          isPending={capture.isPending}
          cancel={capture.cancel}
          onConfirm={(done) => capture.run({ id }, done)}
        >
          <p>{formatMoney(amount, currency)} are charged.</p>
        </Confirm>
      )}
      {isAuthorized && release.isAllowed && (
        <Confirm
          action="Void"
          title="Void this payment?"
          problem={release.problem}
          isPending={release.isPending}
          cancel={release.cancel}
          onConfirm={(done) => release.run({ id }, done)}
        >
          <p>The authorized amount is released.</p>
        </Confirm>
      )}
      {payment.capturedAmount > payment.refundedAmount && <RefundPayment payment={payment} />}
    </>
  );
}
