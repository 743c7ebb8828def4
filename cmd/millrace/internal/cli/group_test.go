package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
)

type listedGroup struct {
	Topic, Group string
	Lag          int
	Live         bool
	Positions    []int64
}

// groupsOf are the groups of a topic that the tool lists.
func groupsOf(t *testing.T, rawURL, topic string) []listedGroup {
	t.Helper()
	return read[struct{ Groups []listedGroup }](t, tool(t, "group", "list", "--topic", topic, "--json", "--bus", rawURL).want(t, 0)).Groups
}

// The group commands work alike on every transport that supports them, and report it otherwise.
func TestGroups(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, rawURL, topic string) {
		b := openBus(t, rawURL)
		group := ownGroup(topic)
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
		for n := range 3 {
			require.NoError(t, b.Publisher().Publish(topic, message.NewMessage(fmt.Sprint(n), []byte("x"))))
		}
		on := func(line string) run {
			return tool(t, append(strings.Fields(line), "--topic", topic, "--group", group, "--bus", rawURL)...)
		}
		if _, ok := b.Driver().(driver.GroupResetter); !ok {
			on("group reset --to earliest --yes").want(t, 1, "has no way to move a group")
			on("replay --since 1h --yes").want(t, 1, "has no way to move a group")
			tool(t, "group", "list", "--bus", rawURL).want(t, 1, "has no way to list its groups")
			if _, ok := b.Driver().(driver.GroupAdmin); ok {
				on("group delete --yes").want(t, 0, "deleted")
				on("group delete --yes").want(t, 1, "the topic has no such group")
			}
			return
		}
		if got := groupsOf(t, rawURL, topic); len(got) != 1 || got[0].Group != group || got[0].Lag != 3 || got[0].Live {
			t.Fatalf("listed %+v", got)
		}
		on("group reset --to latest --dry-run").want(t, 0, "the group would get 0 messages again, and skips 3 messages")
		on("group reset --to latest --yes").want(t, 0, "the group gets 0 messages again, and skips 3 messages")
		if got := groupsOf(t, rawURL, topic); got[0].Lag != 0 {
			t.Errorf("behind the newest message it is %+v", got)
		}
		on("group reset --to earliest --yes --json").want(t, 0, `"again": 3`)
		seen := make(chan struct{}, 3)
		stop := consume(t, b, bus.Consumer{Topic: topic, Group: group, Handler: func(*message.Message) error {
			seen <- struct{}{}
			return nil
		}})
		for range 3 {
			<-seen
		}
		for _, line := range []string{"group reset --to earliest --yes", "group delete --yes", "replay --since 1h --yes"} {
			on(line).want(t, 1, "the group has live members; stop its consumers on this topic")
		}
		stop()
		for live := true; live; { // a broker may take a moment to notice
			live = groupsOf(t, rawURL, topic)[0].Live
		}
		on("group delete --yes").want(t, 0, "deleted")
		assert.Empty(t, groupsOf(t, rawURL, topic), "deleted, it is listed")
		on("group delete --yes").want(t, 1, fmt.Sprintf("there is no group %q of topic %s", group, topic))
	})
}

// Missing and superfluous arguments are reported with the flag; nothing is done without an
// answer or --yes.
func TestGroupUsage(t *testing.T) {
	t.Parallel()
	raw := transports["sqlite"](t, "orders")
	b := openBus(t, raw)
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "orders", Partitions: 1, Groups: []string{"billing", "stats"}}))
	for line, want := range map[string]string{
		"group reset --group stats --to earliest":                                            "--topic is missing",
		"group reset --topic orders --to earliest":                                           "--group is missing",
		"group reset --topic orders --group stats":                                           "one of --to earliest, --to latest, --since and --position",
		"group reset --topic orders --group stats --to latest --since 1h":                    "one of --to earliest",
		"group reset --topic orders --group stats --to oldest":                               `--to is "oldest"; give earliest or latest`,
		"group reset --topic orders --group stats --position 0:1,0:5":                        "--position names partition 0 twice",
		"group reset --topic orders --group stats --position 7":                              `--position is "7"; give PARTITION:POSITION`,
		"group reset --topic orders --group stats --to earliest":                             "add --yes",
		"group delete --topic orders --group stats":                                          "add --yes",
		"group delete --topic orders":                                                        "--group is missing",
		"replay --topic orders --group stats":                                                "--since is missing",
		"replay --topic orders --group stats --since 1h":                                     "add --yes",
		"replay --topic orders --group stats --since 1h --as stats":                          "--as is the group itself",
		"replay --topic orders --group stats --since 1h --again":                             "name their store with --keys",
		"replay --topic orders --group stats --since 1h --keys ftp://x --yes":                "--keys is no URL of a database or a Redis",
		"replay --topic orders --group stats --since 1h --keys-layout x --yes --keys " + raw: "no layout of the idempotency table",
	} {
		tool(t, append(strings.Fields(line), "--bus", raw)...).want(t, 2, want)
	}
	for line, want := range map[string]string{
		"group reset --topic ordres --group stats --to earliest --yes":                 `there is no topic "ordres" on the transport; the nearest that is there is "orders"`,
		"group reset --topic orders --group stast --to earliest --yes":                 `there is no group "stast" of topic orders; the nearest that is there is "stats"`,
		"group list --topic ordres":                                                    `the nearest that is there is "orders"`,
		"group list --topic ordres --group stats":                                      `there is no topic "ordres" on the transport`,
		"group list --topic orders --group stast":                                      `there is no group "stast" of topic orders; the nearest that is there is "stats"`,
		"group list --group stast --json":                                              `there is no group "stast" on the transport; the nearest that is there is "stats"`,
		"group reset --topic orders --group stats --position 7:1 --yes":                "names partition 7; orders has the partitions 0 to 0",
		"replay --topic orders --group stast --since 1h --yes":                         `the nearest that is there is "stats"`,
		"replay --topic orders --group stats --since 1h --yes --keys sqlite://none.db": "--keys: there is no file none.db",
		"replay --topic orders --group stats --since 1h --yes --keys " + raw:           "--keys: ",
	} {
		tool(t, append(strings.Fields(line), "--bus", raw)...).want(t, 1, want)
	}
	no := toolWith(t.Context(), cli.Streams{Asks: true, In: strings.NewReader("n\n")}, "group", "delete", "--topic", "orders", "--group", "stats", "--bus", raw)
	no.want(t, 1, "Delete group stats of orders, which has not acknowledged 0 messages? [y/N]", "nothing was done")
	assert.Len(t, groupsOf(t, raw, "orders"), 2, "the groups")
	if got := offered(t, "group", "reset", "--bus", raw, "--topic", "orders", "--group", ""); !slices.Equal(got, []string{"billing", "stats"}) {
		t.Errorf("for the group it offers %q", got)
	}
	assert.Equal(t, []string{"orders"}, offered(t, "group", "reset", "--bus", raw, "--topic", ""), "for the topic it offers")
}
