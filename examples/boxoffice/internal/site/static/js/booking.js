// This tab's state of a checkout, kept in sessionStorage so that a reload continues
// it. The payment's key is made once and never changes, so that the payment can be
// repeated safely.

const key = (id) => `boxoffice.checkout.${id}`;

export function loadCheckout(id) {
  try {
    return JSON.parse(sessionStorage.getItem(key(id)) ?? '{}');
  } catch {
    return {};
  }
}

export function saveCheckout(id, changes) {
  const record = { ...loadCheckout(id), ...changes };
  record.paymentKey ??= crypto.randomUUID();
  sessionStorage.setItem(key(id), JSON.stringify(record));
  return record;
}

// Seats in the order of the house: by row, then by number.
export function bySeat(a, b) {
  const [rowA, numberA] = a.split('-');
  const [rowB, numberB] = b.split('-');
  return rowA === rowB ? numberA - numberB : rowA < rowB ? -1 : 1;
}
