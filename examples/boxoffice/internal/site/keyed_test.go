package site_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/programtest"
)

// keyedScript prints the number of the key of each request: a refusal ends a payment. An
// error of the office does not, nor a wish for a sign-in or another try.
const keyedScript = `
const kept = new Map();
globalThis.sessionStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text), removeItem: (name) => kept.delete(name) };
const { Keyed } = await import('./keyed.js');
const { keys, next } = await import('./api.js');
for (const status of [503, 500, 401, 408, 429, 0, 200, 409, 200]) {
  next.status = status;
  await new Keyed('membership').ask('/api/memberships', { amount: 1 }).catch(() => {});
}
console.log(keys.map((key) => [...new Set(keys)].indexOf(key)).join(' '));
`

// apiScript stands for the page's api.js.
const apiScript = `
export class Problem extends Error {}
export const keys = [];
export const next = { status: 0 };
export async function post(path, body, { headers }) {
  keys.push(headers['Idempotency-Key']);
  if (next.status === 0) throw new Error('no answer');
  if (next.status > 200) throw Object.assign(new Problem(), { status: next.status });
  return {};
}
`

func TestKeyedPayments(t *testing.T) {
	node := programtest.Find(t, "node")
	keyed, err := os.ReadFile("static/js/keyed.js")
	require.NoError(t, err)
	dir := t.TempDir()
	for name, text := range map[string]string{"package.json": `{"type": "module"}`, "keyed.js": string(keyed), "api.js": apiScript, "test.js": keyedScript} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out, err := exec.CommandContext(t.Context(), node, filepath.Join(dir, "test.js")).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "0 0 0 0 0 0 0 1 2\n", string(out))
}
