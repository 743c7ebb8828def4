// Finds seats together, for people without the patience for a plan.

const AISLES = [7, 18]; // the gaps in a row come after these numbers
const BEST_ROW = 5; // a third of the way back is where a voice arrives best

// bestSeats returns n neighbours that are available, the closest ones to the
// middle of the best row, or null when nowhere n seats are left together.
export function bestSeats(rows, n) {
  let best = null;
  let bestScore = Infinity;
  rows.forEach((row, r) => {
    for (let from = 0; from + n <= row.length; from += 1) {
      const group = row.slice(from, from + n);
      if (group.some((seat) => seat.status !== 'AVAILABLE')) continue;
      const middle = from + (n - 1) / 2 - (row.length - 1) / 2;
      const split = AISLES.some((aisle) => from < aisle && from + n > aisle);
      // Rows in front of the best one are as good as rows twice as far behind.
      const depth = r < BEST_ROW ? (BEST_ROW - r) * 2 : r - BEST_ROW;
      const score = Math.abs(middle) + depth * 1.6 + (split ? 12 : 0);
      if (score < bestScore) {
        bestScore = score;
        best = group.map((seat) => seat.id);
      }
    }
  });
  return best;
}
