import { useState } from "react";
import { type Transaction, TransactionService } from "#client/proto/cloakroom/v1/transactions_pb.js";
import { useChange } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { TextField } from "../../components/field.js";
import { formatMoney } from "./money.js";

export function RefundPayment({ payment }: { payment: Transaction }) {
  const refund = useChange(TransactionService.method.createRefund);
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  if (!refund.isAllowed) return null;
  const { id, capturedAmount, refundedAmount, currency } = payment;
  const confirm = (done: () => void) => {
    refund.run(
      {
        id,
        ...(/^\d{1,15}$/.test(amount) ? { amount: BigInt(amount) } : {}),
        ...(reason.trim() === "" ? {} : { reason: reason.trim() }),
      },
      done,
    );
  };
  const isWrong = amount !== "" && !/^[1-9]\d{0,14}$/.test(amount);
  return (
    <Confirm
      action="Refund"
      title="Refund this payment?"
      problem={refund.problem}
      isPending={refund.isPending || isWrong}
      cancel={refund.cancel}
      onConfirm={confirm}
    >
      <p>{formatMoney(capturedAmount - refundedAmount, currency)} can be refunded.</p>
      <TextField
        label="Amount in minor units"
        value={amount}
        onChange={setAmount}
        help="Empty: all of it"
        problem={isWrong ? "must be a whole number, such as 1050 for 10.50" : undefined}
      />
      <TextField label="Reason" value={reason} onChange={setReason} />
    </Confirm>
  );
}
