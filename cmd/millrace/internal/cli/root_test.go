package cli_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
)

// commands are all commands.
var commands = []string{
	"", "migrate", "migrate print", "migrate up", "migrate status",
	"outbox", "outbox status", "outbox failing", "outbox failed", "outbox retry", "outbox adopt", "outbox rebase", "outbox debezium",
	"dlq", "dlq list", "dlq show", "dlq edit", "dlq redrive", "dlq drop", "doctor",
	"group", "group list", "group reset", "group delete", "replay",
	"queue", "queue status", "queue threshold", "queue verify", "gate", "bench",
	"completion", "completion bash", "completion zsh", "completion fish", "completion powershell",
}

func TestHelp(t *testing.T) {
	for _, c := range commands {
		got := tool(t, append(strings.Fields(c), "--help")...).want(t, 0, "Usage:", "Examples:\n  ")
		if n := len(strings.Fields(c)); n > 0 && !strings.Contains(got.out, "millrace "+c) {
			t.Errorf("the help of %q does not show it:\n%s", c, got.out)
		}
		// A command that is missing in the list above has no checked example.
		if _, under, ok := strings.Cut(got.out, "Available Commands:\n"); ok {
			under, _, _ = strings.Cut(under, "\n\n")
			for line := range strings.Lines(under) {
				name := strings.TrimSpace(c + " " + strings.Fields(line)[0])
				if name != "help" && !strings.Contains("|"+strings.Join(commands, "|")+"|", "|"+name+"|") {
					t.Errorf("the command %q is not tested", name)
				}
			}
		}
	}
}

func TestUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"":                                       "a command is missing",
		"redrive":                                `no command "redrive" of millrace; the nearest that is there is "dlq redrive"`,
		"dlq":                                    "a command is missing",
		"dlq revive":                             `no command "revive" of millrace dlq; the nearest that is there is "redrive"`,
		"help dlq lst":                           `no command "lst" of millrace dlq; the nearest that is there is "list"`,
		"dlq list":                               "name the dead letter topic",
		"dlq list t":                             "give --bus, or set MILLRACE_BUS_URL",
		"dlq list t u --bus sqlite://x":          `"u" is too much`,
		"dlq list t --bus oracle://x":            "unknown scheme",
		"dlq list t --bus mem://":                "another one",
		"dlq list t --bus sqlite://x --limit -1": "--limit is -1",
		"dlq list t --since soon --bus sqlite://x":        "is no time",
		"dlq show t --bus sqlite://x":                     "the letter's id is missing",
		"dlq edit t 1 --bus sqlite://x":                   "$EDITOR",
		"dlq redrive t --bus sqlite://x":                  "say which letters",
		"dlq redrive t 1 --all --bus sqlite://x":          "--all means every letter",
		"dlq redrive t --all --reason x --bus sqlite://x": "--all means every letter",
		"dlq redrive t --all --rate -1 --bus sqlite://x":  "--rate is -1",
		"dlq redrive t --all --limit -1 --bus sqlite://x": "--limit is -1",
		"dlq drop t --all --bus sqlite://x":               "--yes",
		"dlq drop t --bus sqlite://x --yes":               "say which letters",
		"dlq drop t --type X --reason= --yes":             `invalid argument "" for "--reason" flag: it is empty`,
		"dlq redrive t --all --rate NaN":                  "--rate is NaN",
		"migrate up":                                      "give --db, or set MILLRACE_DB_URL",
		"migrate up --db kafka://x":                       "not that of a database",
		"migrate up --db sqlite://x --package queue":      `"queue" is no package`,
		"migrate status --db sqlite://x --unknown":        "unknown flag",
		"migrate print":                                   "--dialect",
		"migrate print --dialect oracle":                  `"oracle" is no database`,
		"migrate print --dialect mysql --layout x":        "no layout of the idempotency table",
		"migrate print extra --dialect mysql":             "unknown command",
		"outbox failed --db sqlite://x --limit 0":         "--limit is 0",
		"outbox status --db sqlite://x --shard -1":        "--shard is -1",
		"queue":                                          "a command is missing",
		"queue status":                                   "give --redis, or set MILLRACE_REDIS_URL",
		"queue status --redis embedded://":               "another one",
		"queue status --redis http://x":                  "neither redis nor rediss",
		"queue status --redis redis://x --prefix {":      "brace",
		"queue threshold --redis redis://x":              "name the event",
		"queue threshold e --redis redis://x -5":         `threshold is "-5"`,
		"queue threshold e -5":                           `threshold is "-5"`,
		"queue threshold e -x":                           "unknown shorthand flag",
		"queue threshold e many --redis redis://x":       `threshold is "many"`,
		"queue threshold e 1 2 --redis redis://x":        `"2" is too much`,
		"queue threshold e 1000000001 --redis redis://x": "1000000000",
		"bench":                               "nothing to measure",
		"bench --db sqlite://x --seconds 0":   "--seconds is 0",
		"bench --db sqlite://x --seconds 61":  "--seconds is 61",
		"bench --db sqlite://x --size 65537":  "--size is 65537",
		"bench --db sqlite://x --callers 0":   "--callers 0",
		"bench --db sqlite://x --name A;DROP": `--name is "A;DROP"`,
		"bench sqlite://x":                    "unknown command",
		"completion":                          "a command is missing",
		"completion csh":                      `no command "csh"`,
		"doctor":                              "nothing to look at",
		"doctor sqlite://x --timeout 0s":      "--timeout is 0s",
		"doctor sqlite://x --package queue":   `"queue" has no tables`,
	} {
		got := tool(t, strings.Fields(line)...).want(t, 2, want)
		assert.Containsf(t, got.err, "--help' for its usage", "%q: no hint at the help in %s", line, got.err)
		if !strings.Contains(want, "a command is missing") && got.out != "" {
			t.Errorf("%q: an error on the standard output: %s", line, got.out)
		}
	}
	if made, err := os.ReadDir("."); err != nil || len(made) > 0 {
		t.Errorf("wrong command lines made %v: %v", made, err)
	}
}

// A driver's error about a URL must not show its password, in any command: one that is
// refused, and one that makes the URL malformed.
func TestNoCredentials(t *testing.T) {
	lines := map[string][]string{
		"--db":    {"migrate up", "migrate status", "outbox status", "outbox retry 1", "doctor --timeout 1s --json", "bench --seconds 1 --json"},
		"--bus":   {"dlq list t", "dlq redrive t --all", "-v dlq show t 1", "doctor --timeout 1s", "-v bench --seconds 1"},
		"--redis": {"queue status", "queue threshold e 5 --json", "doctor --timeout 1s --json", "bench --seconds 1 --json"},
	}
	for _, secret := range []string{"gehe1m-w0rt", "s3cr+t/%25%zz"} {
		who := "app:" + secret + "@"
		urls := map[string][]string{
			"--db": {"postgres://" + who + "127.0.0.1:1/shop", "mysql://" + who + "127.0.0.1:1/shop", "postgres://" + who + "[::1/shop",
				"postgres://127.0.0.1:1/shop?password=" + secret, "sqlite://" + who + "x/y.db"},
			"--bus": {"postgres://" + who + "127.0.0.1:1/shop", "mysql://" + who + "127.0.0.1:1/shop", "amqp://" + who + "127.0.0.1:1/",
				"redis://" + who + "127.0.0.1:1/0", "kafka://" + who + "127.0.0.1:1/?sasl=plain", "kafka://" + who + "127.0.0.1:1/",
				"sqs://" + who + "eu/?endpoint=http://127.0.0.1:1", "app:" + secret + "@kafka", "oracle://" + who + "x"},
			"--redis": {"redis://:" + secret + "@127.0.0.1:1/0", "redis://" + who + "127.0.0.1:1/0", "redis://" + secret + "@127.0.0.1:1/0",
				"rediss://:" + secret + "@127.0.0.1:1/0", "redis://127.0.0.1:1/0?password=" + secret, "redis://:" + secret + "@[::1/0",
				"redis://127.0.0.1:1/0?api_token=" + secret + "&client_secret=" + secret},
		}
		for _, name := range []string{"MILLRACE_MARIADB_URL", "MILLRACE_MYSQL_URL"} {
			if os.Getenv(name) == "" {
				continue
			}
			u, err := url.Parse(os.Getenv(name))
			require.NoError(t, err)
			urls["--db"] = append(urls["--db"], "mysql://"+who+u.Host+u.Path)
		}
		if name := "MILLRACE_RABBITMQ_URL"; os.Getenv(name) != "" {
			u, err := url.Parse(os.Getenv(name))
			require.NoError(t, err)
			urls["--bus"] = append(urls["--bus"], "amqp://"+who+u.Host+"/")
		}
		for flag, all := range urls {
			for i, u := range all {
				t.Run(fmt.Sprint(flag, i, secret[:1]), func(t *testing.T) {
					t.Parallel()
					for n, line := range lines[flag] {
						words := strings.Fields(line)
						forms := [][]string{append(slices.Clone(words), flag, u)}
						if n == 0 { // also as one word, and where no URL belongs
							forms = append(forms, append(slices.Clone(words), flag+"="+u), append(slices.Clone(words), u))
						}
						for _, args := range forms {
							got := tool(t, args...)
							if got.code == 0 {
								t.Errorf("%q works", args)
							}
							for _, part := range []string{secret, secret[:4]} {
								assert.NotContainsf(t, got.out+got.err, part, "%q shows the password:\n%s%s", args, got.out, got.err)
							}
						}
					}
				})
			}
		}
	}
}

func TestEnvironment(t *testing.T) {
	file := "sqlite://" + t.TempDir() + "/a.db"
	env := func(name string) string {
		return map[string]string{"MILLRACE_DB_URL": file, "MILLRACE_BUS_URL": "redis://127.0.0.1:1"}[name]
	}
	toolWith(t.Context(), cli.Streams{Env: env}, "migrate", "up").want(t, 0, "applied")
	toolWith(t.Context(), cli.Streams{Env: env}, "doctor").want(t, 1, "(database)", "nothing listens on 127.0.0.1:1", "1 error")
}

func TestInterruptedBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	toolWith(ctx, cli.Streams{}, "migrate", "up", "--db", "sqlite://"+t.TempDir()+"/a.db").want(t, 130, "interrupted")
}
