package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
)

// A wrong command line names the flag and the fix, and serves nothing.
func TestGateUsage(t *testing.T) {
	t.Parallel()
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	long := strings.Repeat("geheim", 8)
	for _, c := range []struct {
		line string
		want string
		env  map[string]string
	}{
		{"", "--to is missing: give the URL", nil},
		{"--to http://a", "--event is missing: name the room", nil},
		{"--to http://a --event {e} --secret " + long, `millrace: --event is "{e}"; use at most 128 bytes`, nil},
		{"--to http://a --event e --threshold 0", "--threshold is 0; give at least 1", nil},
		{"--to http://a --event e --active 1ms", "--active is 1ms; give at least 1s", nil},
		{"--judge apache --event e", `--judge is "apache"; give nginx, envoy, forward or none`, nil},
		{"--judge nginx --to http://a --event e", "--to has no meaning with --judge nginx", nil},
		{"--to http://a --event e --secret a --secret-file b", "--secret and --secret-file are both given", nil},
		{"--to http://a --event e --secret geheim", "use at least 32", nil},
		{"--to http://a --event e --secret-file " + write("empty", "\n"), "is empty; write a secret", nil},
		{"--to http://a --event e --secret-file /no/such", "--secret-file: open /no/such", nil},
		{"--to http://a --event e --redis redis://:geheim@r/0", "--secret-file is missing", nil},
		{"--to http://a --event e --state /no/such/s --redis redis://r/0", "--state and --redis (or MILLRACE_REDIS_URL) are both given", nil},
		{"--to http://a --event e --redis redis://r/0", "--state and --redis", map[string]string{"MILLRACE_GATE_STATE": "/no/such/s"}},
		{"--to http://a --event e --state /no/such/s", "--secret-file is missing: with a new secret", nil},
		{"--to http://a --event e --state /no/such/s --secret " + long, "--state: open /no/such/s.lock", nil},
		{"--to http://a --event e --secret " + long + " --state " + write("foreign", "{}"), "foreign: memqueue: restore: this is no saved state of waiting rooms", nil},
		{"--to http://a --event e --flags /no/such", "--flags: open /no/such", nil},
		{"--to http://a --flags " + write("wrong", "# mine\nevent e\ntreshold 5\n"), `wrong:3: there is no flag "treshold" of the gate; the nearest that is there is "threshold"`, nil},
		{"--flags " + write("number", "threshold many\n"), "number:1: ", nil},
		{"--to http://a", "--threshold is -1", map[string]string{"MILLRACE_GATE_EVENT": "e", "MILLRACE_GATE_THRESHOLD": "-1"}},
		{"--to http://a", "MILLRACE_GATE_THRESHOLD: ", map[string]string{"MILLRACE_GATE_THRESHOLD": "x"}},
		{"--to http://a --event e", "--secret-file is missing", map[string]string{"MILLRACE_REDIS_URL": "redis://r/0"}},
		{"--to http://a --event e --wait pay --secret " + long, `millrace: --wait has "pay": begin it with a slash`, nil},
		{"--to ftp://a --event e --secret " + long, `millrace: --to is "ftp://a"; give the address`, nil},
		{"--to http://a --event e --rate -1", "--rate is -1; give joins a second", nil},
		{"--to http://a --event e --rate-of 10.0.0.0/8", `--rate-of is "10.0.0.0/8"; give a network and its rate`, nil},
		{"--to http://a --event e --rate-of here=5", `--rate-of: "here" is neither a network nor an address`, nil},
		{"--to http://a --event e --trust 10.0.0.0/99", `--trust: "10.0.0.0/99" is neither`, nil},
		{"--to http://a --event e --trust 0.0.0.0/0 --secret " + long, "--trust has 0.0.0.0/0, which is no network of proxies", nil},
		{"--to http://a --event e --trust-header X-Real-IP --secret " + long, `--trust-header is "X-Real-IP"; give`, nil},
		{"--to http://a --event e --rate 1000000 --secret " + long, "--rate is 1000000; give 1 to", nil},
		{"--to http://a --event e --lane member --secret " + long, `--lane is "member"; give a name and its part of all turns, such as member=0.3`, nil},
		{"--to http://a --event e --lane member=-1 --secret " + long, `--lane is "member=-1"; give`, nil},
		{"--to http://a --event e --lane member=NaN --secret " + long, `--lane is "member=NaN"; give`, nil},
		{"--to http://a --event e --lane mem/ber=0.1 --secret " + long, `millrace: the name of --lane is "mem/ber"; give 1 to 32 letters`, nil},
		{"--to http://a --event e --lane a=0.1 --lane a=0.1 --secret " + long, `millrace: --lane has "a" twice`, nil},
		{"--to http://a --event e --lane a=0.4 --lane b=0.4 --secret " + long, "millrace: the shares of --lane are 0.8 together; give less than 0.75", nil},
		{"--to http://a --event e --lane a=0.4", "--secret-file is missing: the site signs the members of --lane", nil},
		{"--to http://a --event e --keep 1m", "--keep is 1m0s; give at least 10m0s", nil},
		{"--to http://a --event e --stock-url stock --secret " + long, "--stock-url is no address of the site; give one such as http", nil},
		{"--to http://a --event e --stock-url http://u:geheim@:x/ --secret " + long, "--stock-url is no address", nil},
		{"--event e --secret " + long, `invalid port ":bad"`, map[string]string{"MILLRACE_GATE_TO": "http://u:geheim@h:bad/"}},
		{"--event e --secret " + long + " --flags " + write("site", "to http://u:geheim@h/%zz\n"), "invalid URL escape", nil},
		{"--to http://a --event e --treshold 5", `"--threshold"`, nil},
		{"--to http://a --event a/b --secret " + long, `millrace: --event "a/b": set at most`, nil},
		{"--to http://a --event e --redis ftp://r/0 --secret " + long, "millrace: --redis: the URL's scheme is neither", nil},
		{"--to http://a --event e --redis redis://r/0 --prefix {x --secret " + long, `millrace: --prefix "{x" has a brace`, nil},
		{"--to http://a --event e --listen fd:1 --secret " + long, "address fd:1: give an address, or the number", nil},
		{"--to http://a --event e --admin-listen here --listen 127.0.0.1:0 --secret " + long, "address here: missing port", nil},
	} {
		streams := cli.Streams{Env: func(name string) string { return c.env[name] }}
		got := toolWith(t.Context(), streams, append([]string{"gate"}, strings.Fields(c.line)...)...)
		code := cli.ExitUsage
		if strings.HasPrefix(c.want, "--state: open") || strings.HasPrefix(c.want, "foreign:") {
			code = cli.ExitWrong
		}
		if got.code != code || got.out != "" || !strings.Contains(got.err, c.want) {
			t.Errorf("%q: code %d, %s%s, want %d with %q", c.line, got.code, got.out, got.err, code, c.want)
		}
		assert.NotContainsf(t, got.err, "geheim", "%q tells a secret: %s", c.line, got.err)
	}
}
