package event

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
)

func TestNew(t *testing.T) {
	before := time.Now().Add(-time.Millisecond)
	e, err := New("SeatHeld", "boxoffice", map[string]int{"row": 3})
	require.NoError(t, err)
	require.NoError(t, e.Validate())
	if id, err := uuid.Parse(e.ID); err != nil || id.Version() != 7 {
		t.Errorf("ID %q is not a UUID v7 (%v)", e.ID, err)
	}
	if e.Time.Before(before) || e.Time.Location() != time.UTC {
		t.Errorf("Time %v", e.Time)
	}
	if e.Version != "v1" || e.DataContentType != jsonType || string(e.Data) != `{"row":3}` {
		t.Errorf("defaults: %+v", e)
	}
	if e, err := New("T", "s", nil); err != nil || e.Data != nil {
		t.Errorf("nil data gave %q, %v", e.Data, err)
	}
	if e, err := New("T", "s", json.RawMessage(`[1]`)); err != nil || string(e.Data) != `[1]` {
		t.Errorf("raw data gave %q, %v", e.Data, err)
	}
}

func TestNewIDsAreOrdered(t *testing.T) {
	last := ""
	for range 1000 {
		e, err := New("T", "s", nil)
		require.NoError(t, err)
		if e.ID <= last {
			t.Fatalf("%s came after %s", e.ID, last)
		}
		last = e.ID
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := New("", "s", nil)
	wantError(t, err, "type")
	_, err = New("T", "", nil)
	wantError(t, err, "source")
	_, err = New("T", "%zz", nil)
	wantError(t, err, "source")
	if _, err = New("T", "s", func() {}); fault.Of(err) != fault.Permanent {
		t.Errorf("data that does not marshal: %v", err)
	}
}

func TestKeyOfEvent(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{PartitionKey: "p", AggregateID: "a"}, "p"},
		{Event{AggregateID: "a"}, "a"},
		{Event{}, ""},
	} {
		if got := c.e.Key(); got != c.want {
			t.Errorf("Key of %+v is %q, want %q", c.e, got, c.want)
		}
	}
}

func TestCausedBy(t *testing.T) {
	root := Event{ID: "root"}
	child := Event{ID: "child", CausationID: "old", CorrelationID: "old"}.CausedBy(root)
	if child.CorrelationID != "root" || child.CausationID != "root" || child.ID != "child" {
		t.Errorf("child %+v", child)
	}
	grandchild := Event{ID: "grandchild"}.CausedBy(child)
	if grandchild.CorrelationID != "root" || grandchild.CausationID != "child" {
		t.Errorf("grandchild %+v", grandchild)
	}
}

func TestUnmarshalData(t *testing.T) {
	var v struct{ N int }
	e := minimal()
	e.Data = []byte(`{"N":3}`)
	for _, contentType := range []string{"", jsonType, "application/json; charset=utf-8", "application/vnd.a+json", "TEXT/JSON"} {
		v.N, e.DataContentType = 0, contentType
		if err := e.UnmarshalData(&v); err != nil || v.N != 3 {
			t.Errorf("%q: %+v, %v", contentType, v, err)
		}
	}
	e.DataContentType = "text/plain"
	if err := e.UnmarshalData(&v); fault.Of(err) != fault.Permanent {
		t.Errorf("text: %v", err)
	}
	e.DataContentType, e.Data = jsonType, []byte(`{"N":"x"}`)
	if err := e.UnmarshalData(&v); fault.Of(err) != fault.Permanent {
		t.Errorf("wrong type: %v", err)
	}
}
