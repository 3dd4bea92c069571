const { vault, key } = document.body.dataset;
const find = (id) => document.getElementById(id);

const group = cloakroom.elements({ baseUrl: vault, publicKey: key });
const number = group.create("cardNumber");
const expiration = group.create("cardExpirationDate");
const code = group.create("cardVerificationCode");
for (const [element, id] of [
  [number, "number"],
  [expiration, "expiration"],
  [code, "code"],
]) {
  element.on("change", ({ error }) => {
    // The frame reads the error to screen readers: no live region here.
    find(id).title = error?.message ?? "";
  });
  element.on("error", ({ error }) => {
    find("status").textContent = error.message;
  });
  element.mount(`#${id}`).catch(() => {});
}

async function post(path, body) {
  const response = await fetch(path, { method: "POST", body: JSON.stringify(body) });
  const result = await response.json();
  if (!response.ok) throw new Error(result.message);
  return result;
}

const order = post("/orders", {});
/** A declined card may be replaced by another one. */
let attempt = 1;

find("pay").addEventListener("click", async () => {
  const button = find("pay");
  button.disabled = true;
  find("status").textContent = "Paying …";
  try {
    const { id } = await order;
    const data = {
      number,
      expiration_month: expiration.month(),
      expiration_year: expiration.year(),
      cvc: code,
    };
    // A repeat after a lost response makes the same token, and the back end charges it once.
    const token = await group.tokenize(
      { type: "card", data, template: "order" },
      { idempotencyKey: `${id}-${attempt}` },
    );
    const payment = await post("/pay", { order: id, attempt, token: token.id, service: find("service").value });
    const isPaid = (payment.state === "waits" ? await approve(id, payment) : payment.state) === "paid";
    find("status").textContent = isPaid ? "Paid. Thank you." : "Your card was declined. Try another one.";
    if (isPaid) return await showCard(id, token.id);
    attempt += 1;
    button.disabled = false;
  } catch (error) {
    find("status").textContent = error.message;
    button.disabled = false;
  }
});

/**
 * 3-D Secure: leads to the page of the cardholder's bank, in a window of its own, because banks refuse to be framed. The
 * back end learns from the vault how it ended.
 */
async function approve(order, { approvalUrl }) {
  find("status").textContent = "Your bank asks you to approve the payment.";
  find("bank").href = approvalUrl;
  find("approval").hidden = false;
  let state = "waits";
  while (state === "waits") {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    ({ state } = await post("/payment", { order }));
  }
  find("approval").hidden = true;
  return state;
}

/** A frame with the number, which the vault shows when the shop's back end has authorized it. */
async function showCard(id, token) {
  find("paid").hidden = false;
  const shown = group.create("reveal", { label: "Card number", token, path: "number" });
  await shown.mount("#card");
  const { nonce } = await group.createSession();
  await post("/show-card", { order: id, nonce });
}
