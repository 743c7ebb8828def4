package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

func (a *app) groupCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use: "group", Short: "List, move and delete consumer groups",
		Long: "The group commands show how far consumer groups are behind, move them and delete them. The transport refuses to move or delete a group " +
			"that has members: stop its consumers first. To have events handled again, see replay.",
		Example: "  millrace group list --bus kafka://k1,k2,k3/\n  millrace group reset --topic payment.events --group stats --since 2h --dry-run",
	}, a.groupListCommand(), a.groupResetCommand(), a.groupDeleteCommand())
}

// groupFlags name a group of a topic on a transport.
type groupFlags struct{ bus, topic, group string }

func (g *groupFlags) of(a *app, cmd *cobra.Command) *cobra.Command {
	busFlag(cmd, &g.bus)
	cmd.Flags().StringVar(&g.topic, "topic", "", "the topic")
	cmd.Flags().StringVar(&g.group, "group", "", "the consumer group")
	for flag, of := range map[string]func(driver.Group) string{
		"topic": func(found driver.Group) string { return found.Topic },
		"group": func(found driver.Group) string {
			if g.topic != "" && found.Topic != g.topic {
				return ""
			}
			return found.Group
		},
	} {
		complete(cmd, flag, a.groupNames(&g.bus, of))
	}
	cmd.Args = cobra.NoArgs
	a.jsonFlag(cmd)
	return cmd
}

func (g *groupFlags) validate() error {
	switch {
	case g.topic == "":
		return usage("--topic is missing; name the topic of the group")
	case g.group == "":
		return usage("--group is missing; name the consumer group")
	}
	return nil
}

// withBus opens the transport and calls do with it. The topic may be "".
func (a *app) withBus(ctx context.Context, flag, topic string, do func(*bus.Bus) error) (err error) {
	raw, err := a.url("bus", flag, busVariable)
	if err != nil {
		return err
	}
	if err := transportOf(raw); err != nil {
		return err
	}
	if err := withoutTables(ctx, raw, topic); err != nil {
		return err
	}
	b, err := a.openBus(ctx, raw)
	if err != nil {
		return err
	}
	defer closing(b.Close, &err)
	return do(b)
}

// find returns the group that the flags name, or an error with the nearest existing one.
func (g *groupFlags) find(ctx context.Context, b *bus.Bus) (driver.Group, error) {
	all, err := groupsOf(ctx, b, g.topic)
	if err != nil {
		return driver.Group{}, err
	}
	var groups []string
	for _, found := range all {
		if found.Group == g.group {
			return found, nil
		}
		groups = append(groups, found.Group)
	}
	if err := hasTopic(ctx, b, g.topic); err != nil {
		return driver.Group{}, err
	}
	return driver.Group{}, absentGroup(*g, groups)
}

// absentGroup is the error about a group that does not exist, with the nearest that does.
func absentGroup(g groupFlags, groups []string) error {
	place := onTransport
	if g.topic != "" {
		place = "of topic " + plain(g.topic)
	}
	return absent("group", g.group, place, groups)
}

// groupsOf lists the groups of a transport that can list them: this process itself knows none.
func groupsOf(ctx context.Context, b *bus.Bus, topics ...string) ([]driver.Group, error) {
	all, err := b.Groups(ctx, topics...)
	if err == nil {
		_, err = b.Topics(ctx)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("%s has no way to list its groups; look at the queues with the broker's own tool", b.Name())
	}
	return all, err
}

// groupNames completes topics or groups.
func (a *app) groupNames(raw *string, of func(driver.Group) string) cobra.CompletionFunc {
	return a.onBus(raw, func(ctx context.Context, b *bus.Bus) (names []string, err error) {
		all, err := b.Groups(ctx)
		for _, g := range all {
			if name := of(g); name != "" {
				names = append(names, name)
			}
		}
		return names, err
	})
}

func (a *app) groupListCommand() *cobra.Command {
	var g groupFlags
	return g.of(a, &cobra.Command{
		Use: "list", Short: "List consumer groups, how far they are behind, and whether they have members",
		Long: "list changes nothing. LAG is counted up to 10,000 a partition on SQL and Redis. POSITIONS has, by partition, the position of the first message " +
			"that the group has not acknowledged. RabbitMQ and SQS have no way to list groups.",
		Example: "  millrace group list --bus kafka://k1,k2,k3/\n  millrace group list --topic payment.events --json | jq .groups[].lag",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withBus(cmd.Context(), g.bus, g.topic, func(b *bus.Bus) error { return a.groupList(cmd.Context(), b, g) })
		},
	})
}

// groupReport is a group for programs.
type groupReport struct {
	Topic     string     `json:"topic"`
	Group     string     `json:"group"`
	Lag       int        `json:"lag"`
	Oldest    *time.Time `json:"oldest"`
	Live      bool       `json:"live"`
	Positions []int64    `json:"positions"`
}

func (a *app) groupList(ctx context.Context, b *bus.Bus, g groupFlags) error {
	var topics []string
	if g.topic != "" {
		topics = []string{g.topic}
	}
	all, err := groupsOf(ctx, b, topics...)
	if err != nil {
		return err
	}
	if len(all) == 0 && g.topic != "" {
		if err := hasTopic(ctx, b, g.topic); err != nil {
			return err
		}
	}
	if g.group != "" {
		var groups []string
		all = slices.DeleteFunc(all, func(found driver.Group) bool {
			groups = append(groups, found.Group)
			return found.Group != g.group
		})
		if len(all) == 0 {
			return absentGroup(g, groups)
		}
	}
	out := struct {
		Groups []groupReport `json:"groups"`
	}{[]groupReport{}}
	rows := [][]string{{"TOPIC", "GROUP", "LAG", "OLDEST", "MEMBERS", "POSITIONS"}}
	for _, found := range all {
		out.Groups = append(out.Groups, groupReport{found.Topic, found.Group, found.Messages, known(found.Oldest), found.Live, append([]int64{}, found.Positions...)})
		members := "none"
		if found.Live {
			members = "live"
		}
		rows = append(rows, []string{found.Topic, found.Group, strconv.Itoa(found.Messages), moment(found.Oldest), members, positionsText(found.Positions)})
	}
	return a.list(out, rows, "no groups")
}

// positionsText formats positions for --position.
func positionsText(all []int64) string {
	var parts []string
	for n, at := range all {
		if at >= 0 {
			parts = append(parts, fmt.Sprintf("%d:%d", n, at))
		}
	}
	return orDash(strings.Join(parts, " "))
}
