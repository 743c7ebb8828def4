package site_test

import (
	"maps"
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
for (const status of [503, 500, 401, 403, 408, 429, 0, 200, 409, 200]) {
  next.status = status;
  await new Keyed('membership').ask('/api/memberships', { amount: 1 }).catch(() => {});
}
console.log(keys.map((key) => [...new Set(keys)].indexOf(key)).join(' '));
`

// scanScript prints the number of the key of each scan in the same way.
const scanScript = `
globalThis.sessionStorage = { getItem: () => null, setItem() {} };
globalThis.addEventListener = () => {};
await import('./scan.js');
const { keys, next } = await import('./api.js');
const { scanner } = await import('./camera.js');
for (const status of [0, 429, 401, 503, 200, 200]) {
  next.status = status;
  await scanner.check('code');
}
console.log(keys.map((key) => [...new Set(keys)].indexOf(key)).join(' '));
`

// stubs stand for the other modules of a page.
var stubs = map[string]string{
	"api.js": `
export class Problem extends Error {}
export class Unreachable extends Error {}
export const keys = [];
export const next = { status: 0 };
export const get = async () => next.got ?? { keys: [] };
export const put = post;
export async function post(path, body, { headers }) {
  keys.push(headers['Idempotency-Key']);
  if (next.status === 0) throw new Unreachable();
  if (next.status > 200) throw Object.assign(new Problem(), { status: next.status });
  return {};
}
`,
	"camera.js": `
export const scanner = {};
export const canRead = async () => false;
export class Camera { constructor(view, check) { scanner.check = check; } }
`,
	"dom.js": `
const part = { options: [], children: [], addEventListener() {}, focus() {}, prepend() {}, replaceChildren() {} };
export const $ = () => part, h = () => part, show = () => {}, tell = () => {};
`,
	"i18n.js":         `export const moment = () => '', t = () => '', time = () => '';`,
	"offlinecheck.js": `export const genuine = async () => null;`,
	"session.js":      `export const session = {};`,
	"site.js":         ``,
}

func TestKeyedPayments(t *testing.T) {
	require.Equal(t, "0 0 0 0 0 0 0 0 1 2\n", runScript(t, keyedScript))
}

func TestKeyedScans(t *testing.T) {
	require.Equal(t, "0 0 0 0 0 1\n", runScript(t, scanScript))
}

func runScript(t *testing.T, script string) string {
	t.Helper()
	node := programtest.Find(t, "node")
	dir := t.TempDir()
	files := maps.Clone(stubs)
	files["package.json"], files["test.js"] = `{"type": "module"}`, script
	for _, name := range []string{"inbox.js", "keyed.js", "scan.js"} {
		text, err := os.ReadFile("static/js/" + name)
		require.NoError(t, err)
		files[name] = string(text)
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out, err := exec.CommandContext(t.Context(), node, filepath.Join(dir, "test.js")).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}
