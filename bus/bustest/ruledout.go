package bustest

import (
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// Rule says that a case does not apply to a transport without a capability.
type Rule struct {
	Case   string
	Flag   string // a field of driver.Capabilities, or one of the flags below
	Reason string
}

// Flags beside the capabilities.
const (
	FlagRestart   = "RestartCommand"       // the option of that name was given
	FlagServer    = "Absent"               // the option of that name was given
	FlagLagger    = "driver.Lagger"        // the driver implements it
	FlagInspector = "driver.Inspector"     // the driver implements it
	FlagFinder    = "driver.TopicFinder"   // the driver implements it
	FlagGroups    = "driver.GroupAdmin"    // the driver implements it
	FlagResetter  = "driver.GroupResetter" // the driver implements it
	FlagReader    = "driver.Reader"        // the driver implements it
	FlagParallel  = "parallel keys"        // its capabilities have neither SerialGroups nor OneAtATime
	FlagUnlocked  = "unlocked keys"        // its capabilities have no LocksKeys
)

// RuledOut returns every case that may print n/a, and the reason.
func RuledOut() []Rule {
	return []Rule{
		{"TestReconnect", FlagRestart, "no command that restarts the server was given: the case races with its own publisher, so the servers are killed by tests of ours"},
		{"TestPublishSubscribeInOrder", "OrderedPerKey", "the transport keeps no order"},
		{"TestNoAck", "OrderedPerKey", "the transport hands out more while a message is unacknowledged"},
		{"TestConsumerGroups", "ConsumerGroups", "the transport has queues, not groups"},
		{"TestNewSubscriberReceivesOldMessages", "Replay", "a queue has one reader; a new group cannot read it again"},
		{"OrderPerKeyWithKeysInParallel", "OrderedPerKey", "the transport keeps no order"},
		{"OrderAcrossNackAndRetry", "OrderedPerKey", "the transport keeps no order"},
		{"GroupsEachGetAll", "ConsumerGroups", "the transport has queues, not groups"},
		{"NewGroupStartsAtEarliest", "Replay", "a queue has one reader; a new group cannot read it again"},
		{"DeclaredGroupGetsEverything", "ConsumerGroups", "the transport has queues, not groups"},
		{"InstancesShareAGroup", "OrderedPerKey", "the order over two instances is what the case checks"},
		{"GroupSurvivesReopening", "Durable", "the transport ends with the process"},
		{"PoisonMessageIsDeadLettered", "OrderedPerKey", "the order around the dead letter is what the case checks"},
		{"OrderPerKeyWithKeysInParallel", FlagParallel, "one message is out at a time"},
		{"OneUnacknowledgedPerKey", FlagParallel, "other keys wait for an unacknowledged message as well"},
		{"KeylessIsOneKey", FlagParallel, "other keys wait for an unacknowledged message as well"},
		{"OutOfOrderAcksNeverSkip", FlagParallel, "only one message is out, so acks have an order"},
		{"PoisonMessageIsDeadLettered", FlagParallel, "other keys wait for a message that is being retried"},
		{"AMessageThatFailsAloneStopsOnlyItsKey", "OrderedPerKey", "the order around the dead letter is what the case checks"},
		{"AMessageThatFailsAloneStopsOnlyItsKey", FlagParallel, "other keys wait for an unacknowledged message as well"},
		{"BatchesFillAndKeepOrder", "OrderedPerKey", "the transport keeps no order"},
		{"BatchesFillAndKeepOrder", FlagParallel, "only one message is out, so a batch is one message"},
		{"BatchesFillAndKeepOrder", FlagUnlocked, "a batch holds a few messages of a key only"},
		{"BatchPartialFailure", "OrderedPerKey", "the order around the failure is what the case checks"},
		{"PairHoldsLowWhileHighIsBehind", FlagLagger, "the transport cannot tell how far a group is behind"},
		{"LagCountsDown", FlagLagger, "the transport cannot tell how far a group is behind"},
		{"LagKnowsTheOldest", FlagLagger, "the transport cannot tell how far a group is behind"},
		{"LagKnowsTheOldest", "Replay", "what waits in a queue cannot be looked at without taking it"},
		{"GroupsAreListed", FlagGroups, "the transport cannot tell its groups"},
		{"AResetGroupGetsEverythingAgain", FlagResetter, "a queue keeps nothing that was acknowledged"},
		{"AResetGroupBeginsAtAPlace", FlagResetter, "a queue keeps nothing that was acknowledged"},
		{"AResetGroupBeginsAtItsPositions", FlagResetter, "a queue keeps nothing that was acknowledged"},
		{"ADeletedGroupBeginsAnew", FlagGroups, "the transport cannot tell its groups"},
		{"ALiveGroupIsLeftAlone", FlagGroups, "the transport cannot tell its groups"},
		{"AGroupThatIsNotThereIsNotMade", FlagGroups, "the transport cannot tell its groups"},
		{"ReadConsumesNothing", FlagReader, "the transport cannot read messages without consuming them"},
		{"TopicsAreFound", FlagFinder, "the transport cannot tell whether a topic exists"},
		{"AnAbsentServerIsWaitedFor", FlagServer, "the transport has no server that could be absent"},
		{"BrowseConsumesNothing", FlagInspector, "the transport cannot show messages without consuming them"},
	}
}

// flags returns the flags of a bus.
func flags(b *bus.Bus, o options) map[string]bool {
	c := b.Capabilities()
	return map[string]bool{
		"Durable":           c.Durable,
		"OrderedPerKey":     c.OrderedPerKey,
		"ConsumerGroups":    c.ConsumerGroups,
		"Replay":            c.Replay,
		"Broadcast":         c.Broadcast,
		"DelayedRedelivery": c.DelayedRedelivery,
		"NativeDeadLetter":  c.NativeDeadLetter,
		"IndividualAcks":    c.IndividualAcks,
		FlagRestart:         len(o.restart) > 0,
		FlagServer:          o.absent != nil,
		FlagLagger:          is[driver.Lagger](b),
		FlagInspector:       is[driver.Inspector](b),
		FlagFinder:          is[driver.TopicFinder](b),
		FlagGroups:          is[driver.GroupAdmin](b),
		FlagResetter:        is[driver.GroupResetter](b),
		FlagReader:          is[driver.Reader](b),
		FlagParallel:        !c.SerialGroups && !c.OneAtATime,
		FlagUnlocked:        !c.LocksKeys,
	}
}

// is reports whether the driver of a bus implements an optional interface.
func is[T any](b *bus.Bus) bool {
	_, ok := b.Driver().(T)
	return ok
}

// ruledOut returns the rule that excludes a case, if any.
func ruledOut(name string, has map[string]bool) (Rule, bool) {
	for _, r := range RuledOut() {
		if r.Case == name && !has[r.Flag] {
			return r, true
		}
	}
	return Rule{}, false
}
