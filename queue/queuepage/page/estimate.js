// The wait, as a range in words that moves calmly: a number that jumps is worse
// than none.

// smooth counts the last estimate down, and moves it towards the server's: by two
// thirds in 45 s.
function smooth(last, seconds, now) {
  if (!last) return { left: seconds, at: now };
  const gone = Math.max(0, (now - last.at) / 1000);
  const left = Math.max(0, last.left - gone);
  return { left: left + (seconds - left) * (1 - Math.exp(-gone / 45)), at: now };
}

// range keeps the last range while it still holds. least and most are the factors
// between which the server is sure.
function range(last, seconds, least, most) {
  if (seconds < 60 || (last && last.unit === 'soon' && seconds < 80)) return { unit: 'soon', low: 0, high: 1 };
  const unit = seconds < 5400 ? 'minutes' : 'hours';
  const n = seconds / (unit === 'hours' ? 3600 : 60);
  if (last && last.unit === unit && n > last.low && n < last.high) return last;
  const step = unit === 'minutes' && n >= 20 ? 5 : 1;
  const low = Math.max(1, Math.floor((n * Math.min(least, 0.85)) / step) * step);
  return { unit, low, high: Math.max(low + step, Math.ceil((n * Math.max(most, 1.25)) / step) * step) };
}

// estimate takes the server's estimate; null is not known.
function estimate(seconds, low = seconds, high = seconds) {
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds < 0) {
    remember({ wait: null, range: null });
    return;
  }
  const wait = smooth(journey.wait, seconds, Date.now());
  remember({ wait, range: range(journey.range, wait.left, low / seconds, high / seconds) });
}

function waitText() {
  const { range: r } = journey;
  if (!r) return '';
  return r.unit === 'soon' ? t('wait.soon') : t(`wait.${r.unit}`, { low: r.low, high: r.high, n: r.high });
}

// renew begins a new way, and says so.
function renew() {
  say(t('renewed'));
  remember({ start: 0, best: 0, said: [], wait: null, range: null, renewed: true });
}

// advance moves the bar, which never goes back. A visitor far behind the first place
// has a new place, and the bar begins again.
function advance(position) {
  const lost = journey.start > 0 && position > journey.start + Math.max(50, journey.start / 4);
  if (lost) renew();
  if (!(journey.start > 0)) remember({ start: position, best: 0 });
  remember({ best: Math.max(journey.best || 0, 1 - position / (journey.start + 1)) });
}
