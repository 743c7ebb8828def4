package event

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// full returns an event with every field set.
func full() Event {
	return Event{
		ID:     "0190163d-8694-739b-aea5-966c26f8ad90",
		Type:   "PaymentSuccess",
		Source: "boxoffice/payments",
		Time:   time.Date(2026, 3, 1, 19, 30, 0, 123456789, time.UTC),

		AggregateType: "reservation",
		AggregateID:   "res-1042",
		PartitionKey:  "user-7",
		Version:       "v2",
		Sequence:      18446744073709551615,

		CorrelationID: "req-99",
		CausationID:   "0190163d-0000-7000-8000-000000000001",

		ActorID:  "user-7",
		TargetID: "user-8",
		RefID:    "post-3",
		Priority: High,

		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		TraceState:  "rojo=00f067aa0ba902b7",

		DataContentType: jsonType,
		DataSchema:      "https://millrace.example/schemas/payment.json",
		Data:            []byte(`{"paymentId":"p-1","amount":120000}`),

		Extensions: map[string]string{"region": "서울", "ce4": `a "quoted" \ value, 100% 🎟`},
	}
}

// minimal returns an event with only the required fields.
func minimal() Event { return Event{ID: "1", Type: "T", Source: "s"} }

// TestFullSetsEverything fails if a field of Event is missing in full, so that every round trip
// covers all fields.
func TestFullSetsEverything(t *testing.T) {
	v := reflect.ValueOf(full())
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("full() does not set %s", v.Type().Field(i).Name)
		}
	}
}

// TestAttributeNames checks that names and numbers map to each other in both directions.
func TestAttributeNames(t *testing.T) {
	e := full()
	fields := map[*string]bool{}
	for a := attrSpecVersion; a < attrEnd; a++ {
		name := attrNames[a]
		if name == "" || lookup(name) != a {
			t.Errorf("attribute %d is named %q, which is attribute %d", a, name, lookup(name))
		}
		field := e.text(a)
		special := a == attrSpecVersion || a == attrTime || a == attrSequence
		assert.Equalf(t, special, (field == nil), "%s: field %v", name, field)
		if field != nil {
			if fields[field] {
				t.Errorf("%s shares its field with another attribute", name)
			}
			fields[field] = true
		}
	}
	assert.Equal(t, attrExtension, lookup("region"), "an unknown name is an extension")
}

// wantError checks the properties of every error of this package: permanent, prefixed, and
// naming the attribute.
func wantError(t *testing.T, err error, attribute string, contains ...string) {
	t.Helper()
	require.Errorf(t, err, "no error; want one about %s", attribute)
	if c := fault.Of(err); c != fault.Permanent {
		t.Errorf("class %v of %v; want permanent", c, err)
	}
	assert.Truef(t, strings.HasPrefix(err.Error(), "event: "), "error %q does not say who reports it", err)
	var ae *attributeError
	require.Truef(t, errors.As(err, &ae), "no attributeError in %v", err)
	if ae.Name != attribute {
		t.Errorf("error names %q, want %q: %v", ae.Name, attribute, err)
	}
	for _, s := range append(contains, attribute) {
		assert.Containsf(t, err.Error(), s, "error %q does not contain %q", err, s)
	}
}

func wantEqual(t *testing.T, got, want Event) {
	t.Helper()
	assert.Truef(t, reflect.DeepEqual(got, want), "events differ\n got %+v\nwant %+v", got, want)
}

// wantDecodeError checks an error about arbitrary input.
func wantDecodeError(t *testing.T, err error, e Event) {
	t.Helper()
	require.Truef(t, reflect.DeepEqual(e, Event{}), "an event beside an error: %+v", e)
	if c := fault.Of(err); c != fault.Permanent {
		t.Fatalf("class %v of %v; want permanent", c, err)
	}
	require.Truef(t, strings.HasPrefix(err.Error(), "event: decode message "), "error %q does not say who reports it", err)
	if len(err.Error()) > 1000 {
		t.Fatalf("an error of %d bytes", len(err.Error()))
	}
	var ae *attributeError
	if !errors.As(err, &ae) && !errors.Is(err, errTooLarge) && !errors.Is(err, ErrNotEvent) {
		t.Fatalf("error %q names no attribute", err)
	}
	if ae != nil && (ae.Name == "" || ae.Err == nil) {
		t.Fatalf("an empty attributeError: %#v", ae)
	}
}

// codec is a mode of CloudEvents.
type codec interface {
	Encode(e Event) (*message.Message, error)
	decode(msg *message.Message) (Event, error)
}
