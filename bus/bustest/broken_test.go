package bustest_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/membus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faults maps each fault to the cases that have to fail for it.
func faults() map[string]struct {
	fault broken
	cases []string
} {
	type entry = struct {
		fault broken
		cases []string
	}
	return map[string]entry{
		"acknowledges on delivery": {broken{deliver: acksEarly}, []string{
			"UnacknowledgedIsRedeliveredAfterClose", "UnacknowledgedIsRedeliveredAfterContextEnd", "OutOfOrderAcksNeverSkip",
			"RedriveSelected", "RedriveDryRunTakesNothing", "RedriveAfterEdit", "RedriveKilledLosesNothing"}},
		"reorders": {broken{deliver: reverses}, []string{
			"OrderPerKeyWithKeysInParallel", "OrderAcrossNackAndRetry", "KeylessIsOneKey", "OneUnacknowledgedPerKey", "InstancesShareAGroup",
			"PoisonMessageIsDeadLettered", "InfrastructurePauseLosesNothing", "BatchesFillAndKeepOrder", "BatchPartialFailure"}},
		"confirms everything before an ack": {broken{deliver: skips}, []string{"OutOfOrderAcksNeverSkip"}},
		"loses messages":                    {broken{publish: drops()}, []string{"GroupsEachGetAll", "GroupResumesWhereItStopped", "DeclaredGroupGetsEverything", "InstancesShareAGroup", "ObsoleteIsSkipped"}},
		"loses dead letters":                {broken{publish: dropsLetters}, []string{"PoisonMessageIsDeadLettered", "DeadLetterThatCannotBePublishedPauses", "BatchPartialFailure", "RedriveAll"}},
		"takes a copy for a repetition":     {broken{publish: deduplicates()}, []string{"RedriveBehindManyOfItsKey"}},
		"loses a message behind a poison":   {broken{publish: drops()}, []string{"AMessageThatFailsAloneStopsOnlyItsKey"}},
		"one group for all":                 {broken{group: func(string) string { return "same" }}, []string{"GroupsEachGetAll", "NewGroupStartsAtEarliest"}},
		"forgets where a group stood":       {broken{group: ownGroups()}, []string{"GroupResumesWhereItStopped", "AnOrderlyStopRepeatsNothing", "AnInstanceTakesOverWhereTheOtherStopped", "DrainOnShutdown", "RedriveDrop", "RedriveAll"}},
		"drops metadata":                    {broken{publish: changes(func(m *message.Message) { delete(m.Metadata, "empty") })}, []string{"BytesAndMetadataRoundTrip"}},
		"changes bytes":                     {broken{publish: changes(func(m *message.Message) { m.Payload = []byte(strings.ToValidUTF8(string(m.Payload), "?")) })}, []string{"BytesAndMetadataRoundTrip"}},
		"changes ids":                       {broken{publish: changes(func(m *message.Message) { m.UUID = strings.ToUpper(m.UUID) })}, []string{"BytesAndMetadataRoundTrip"}},
		"has no memory of its groups":       {broken{group: ownGroups(), lag: func([]bus.Lag) []bus.Lag { return nil }}, []string{"PairHoldsLowWhileHighIsBehind", "LagCountsDown"}},
		"does not know how old messages are": {broken{lag: func(all []bus.Lag) []bus.Lag {
			for i := range all {
				all[i].Oldest = time.Time{}
			}
			return all
		}}, []string{"LagKnowsTheOldest"}},
		"takes the newest for the oldest": {broken{lag: func(all []bus.Lag) []bus.Lag {
			for i := range all {
				all[i].Oldest = time.Now()
			}
			return all
		}}, []string{"LagKnowsTheOldest"}},
		"shows too much":                      {broken{browse: func(all []*message.Message) []*message.Message { return append(all, all...) }}, []string{"BrowseConsumesNothing"}},
		"takes every place for the end":       {broken{reset: movesToTheEnd}, []string{"AResetGroupGetsEverythingAgain"}},
		"moves in a dry run":                  {broken{reset: movesAlways}, []string{"AResetGroupGetsEverythingAgain"}},
		"takes every place for the beginning": {broken{reset: movesToTheBeginning}, []string{"AResetGroupBeginsAtAPlace"}},
		"says that it has reset any group": {broken{
			reset: func(busdriver.GroupResetter, string, string, bus.Place, bool) (busdriver.Moved, error) {
				return busdriver.Moved{}, nil
			},
		}, []string{"ALiveGroupIsLeftAlone", "AGroupThatIsNotThereIsNotMade"}},
		"deletes nothing": {broken{delete: func(busdriver.GroupAdmin, string, string) error { return nil }},
			[]string{"ADeletedGroupBeginsAnew", "ALiveGroupIsLeftAlone", "AGroupThatIsNotThereIsNotMade"}},
		"sees no members": {broken{groups: func(all []busdriver.Group) []busdriver.Group {
			for i := range all {
				all[i].Live = false
			}
			return all
		}}, []string{"GroupsAreListed"}},
		"shows the position of another group": {broken{groups: func(all []busdriver.Group) []busdriver.Group {
			for i := range all { // of the same one at each call
				all[i].Positions = slices.MinFunc(all, func(a, b busdriver.Group) int { return cmp.Compare(a.Group, b.Group) }).Positions
			}
			return all
		}}, []string{"GroupsAreListed"}},
		"shows positions of other partitions": {broken{groups: func(all []busdriver.Group) []busdriver.Group {
			for i := range all { // membus has one: as if there were another that is ahead
				all[i].Positions = []int64{all[i].Positions[0] + 1}
			}
			return all
		}}, []string{"AResetGroupBeginsAtItsPositions"}},
		"reads each message twice": {broken{read: func(fn func(*message.Message) error) func(*message.Message) error {
			return func(m *message.Message) error { return errors.Join(fn(m), fn(m)) }
		}}, []string{"ReadConsumesNothing"}},
		"reads from the beginning for any place": {broken{begins: true}, []string{"ReadConsumesNothing"}},
		"hands out more than was asked for":      {broken{generous: true}, []string{"AnOpenedSourceOutlivesItsContext"}},
		"finds every topic":                      {broken{finds: func(bool) bool { return true }}, []string{"TopicsAreFound"}},
		"cannot declare":                         {broken{declare: func(context.Context, ...bus.Topic) error { return errors.New("no") }}, []string{"DeclaredGroupGetsEverything"}},
		"waits for nobody":                       {broken{absent: func(error) error { return errors.New("no such host") }}, []string{"AnAbsentServerIsWaitedFor"}},
		"stays open":                             {broken{closed: func() error { return nil }}, []string{"PublishAfterClose"}},
		"ends a source with its opening":         {broken{opening: true}, []string{"AnOpenedSourceOutlivesItsContext"}},
		"fails to close":                         {broken{closed: func() error { return errors.New("stuck") }}, []string{"CloseIsIdempotent"}},
		"is gone after reopening":                {broken{}, []string{"GroupSurvivesReopening"}}, // membus itself
	}
}

// notBroken lists the cases that no fault of a driver can fail here, and the reasons.
var notBroken = map[string]string{
	"PublisherCloseClosesNothing":  "bus.Bus shields the driver's publisher",
	"EndedContextPublishesNothing": "bus.Bus looks at the contexts",
	"UnknownParameter":             "shown by TestASchemeThatTakesAnyParameterFails",
}

func TestABrokenDriverFails(t *testing.T) {
	failed := map[string]bool{}
	for name, f := range faults() {
		for _, c := range f.cases {
			t.Run(name+"/"+c, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					err := runCase(t, c, func(d busdriver.Driver) busdriver.Driver {
						fault := f.fault
						fault.Driver = d
						return fault
					})
					if err == nil {
						t.Error("the case passed on a driver that " + name)
					} else if strings.Contains(err.Error(), "%!") {
						t.Error("the error is malformed")
					}
					t.Log(err)
				})
			})
			failed[c] = true
		}
	}
	for _, c := range bustest.Cases() {
		if _, ok := notBroken[c.Name]; ok == failed[c.Name] {
			t.Errorf("%s: no broken driver fails it, so nobody knows that it can fail", c.Name)
		}
	}
}

// The control of the test above: without a fault every case passes, except the one that membus
// is ruled out of.
func TestASoundDriverPasses(t *testing.T) {
	for _, c := range bustest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := runCase(t, c.Name, func(d busdriver.Driver) busdriver.Driver { return broken{Driver: d} })
				if (err != nil) != (c.Name == "GroupSurvivesReopening") {
					t.Error(err)
				}
			})
		})
	}
}

// A transport that declares that it keeps no order passes the cases that this does not rule out.
func TestAnUnorderedDriverPasses(t *testing.T) {
	out := func(name string) bool {
		return slices.ContainsFunc(bustest.RuledOut(), func(r bustest.Rule) bool { return r.Case == name && r.Flag == "OrderedPerKey" })
	}
	for _, c := range bustest.Cases() {
		if out(c.Name) || c.Name == "GroupSurvivesReopening" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := runCase(t, c.Name, func(d busdriver.Driver) busdriver.Driver {
					return broken{Driver: d, deliver: reverses, unordered: true}
				})
				assert.NoError(t, err)
			})
		})
	}
}

func runCase(t *testing.T, name string, wrap func(busdriver.Driver) busdriver.Driver) error {
	t.Helper()
	i := slices.IndexFunc(bustest.Cases(), func(c bustest.Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no case %s", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	scheme := membus.Scheme()
	var under []busdriver.Driver // closed in any case, even under a wrapper that does not close
	again := func() (*bus.Bus, error) {
		b, err := bus.Open(ctx, "mem://store", scheme)
		if err != nil {
			return nil, err
		}
		under = append(under, b.Driver())
		return bus.New("broken", wrap(b.Driver())), nil
	}
	b, err := again()
	require.NoError(t, err)
	defer func() {
		b.Close() //nolint:errcheck // it may be broken
		for _, d := range under {
			d.Close() //nolint:errcheck // it may be closed
		}
	}()
	return bustest.Cases()[i].Test(ctx, bustest.Env{
		Bus: b, Again: again,
		OpenURL: func(ctx context.Context, query string) (*bus.Bus, error) {
			return bus.Open(ctx, "mem://?"+query, scheme)
		},
		Absent: func() (*bus.Bus, func() error, error) {
			b, err := bus.Open(ctx, "mem://store", scheme)
			if err != nil {
				return nil, nil, err
			}
			under = append(under, b.Driver())
			d := &absent{Driver: b.Driver(), judge: func(err error) error { return err }}
			if broken, ok := wrap(d).(broken); ok && broken.absent != nil {
				d.judge = broken.absent
			}
			return bus.New("absent", wrap(d)), func() error { d.arrived.Store(true); return nil }, nil
		},
	})
}

type careless struct{}

func (careless) Names() []string { return []string{"careless"} }
func (careless) Open(ctx context.Context, _ *url.URL) (busdriver.Driver, error) {
	return membus.Scheme().Open(ctx, &url.URL{Scheme: "mem"})
}

func TestASchemeThatTakesAnyParameterFails(t *testing.T) {
	i := slices.IndexFunc(bustest.Cases(), func(c bustest.Case) bool { return c.Name == "UnknownParameter" })
	scheme := careless{}
	err := bustest.Cases()[i].Test(t.Context(), bustest.Env{OpenURL: func(ctx context.Context, query string) (*bus.Bus, error) {
		return bus.Open(ctx, "careless://?"+query, scheme)
	}})
	assert.Error(t, err, "the case passed")
}

func TestEveryRuleNamesACaseAndAFlag(t *testing.T) {
	cases := map[string]bool{}
	for _, c := range bustest.Cases() {
		if cases[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		cases[c.Name] = true
	}
	flags := map[string]bool{bustest.FlagRestart: true, bustest.FlagServer: true, bustest.FlagParallel: true, bustest.FlagLagger: true, bustest.FlagInspector: true, bustest.FlagFinder: true, bustest.FlagGroups: true, bustest.FlagResetter: true, bustest.FlagReader: true, bustest.FlagUnlocked: true,
		"Durable": true, "OrderedPerKey": true, "ConsumerGroups": true, "Replay": true, "Broadcast": true, "DelayedRedelivery": true, "NativeDeadLetter": true, "IndividualAcks": true}
	for _, r := range bustest.RuledOut() {
		if !cases[r.Case] && !strings.HasPrefix(r.Case, "Test") {
			t.Errorf("there is no case %s", r.Case)
		}
		if !flags[r.Flag] || r.Reason == "" {
			t.Errorf("the rule for %s has flag %q and reason %q", r.Case, r.Flag, r.Reason)
		}
	}
	if want := slices.Sorted(maps.Keys(cases)); len(want) < 20 {
		t.Errorf("only %d cases: %v", len(want), want)
	}
}
