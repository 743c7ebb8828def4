package fault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBase = errors.New("base")

func TestOf(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want fault.Class
	}{
		{"unmarked", errBase, fault.Transient},
		{"transient", fault.MarkTransient(errBase), fault.Transient},
		{"permanent", fault.MarkPermanent(errBase), fault.Permanent},
		{"infrastructure", fault.MarkInfrastructure(errBase), fault.Infrastructure},
		{"busy", fault.MarkBusy(errBase, time.Second), fault.Busy},
		{"wrapped later", fmt.Errorf("a: %w", fmt.Errorf("b: %w", fault.MarkPermanent(errBase))), fault.Permanent},
		{"marked twice: the outer one", fault.MarkPermanent(fmt.Errorf("a: %w", fault.MarkInfrastructure(errBase))), fault.Permanent},
		{"marked twice, wrapped between and after", fmt.Errorf("c: %w", fault.MarkTransient(fault.MarkPermanent(errBase))), fault.Transient},
		{"joined: the first marked one", errors.Join(errBase, fault.MarkInfrastructure(errBase), fault.MarkPermanent(errBase)), fault.Infrastructure},
	} {
		if got := fault.Of(tc.err); got != tc.want {
			t.Errorf("%s: Of = %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestMarkIsTransparent(t *testing.T) {
	cause := &fs.PathError{Op: "open", Path: "/x", Err: errBase}
	for name, mark := range map[string]func(error) error{
		"transient": fault.MarkTransient, "permanent": fault.MarkPermanent, "infrastructure": fault.MarkInfrastructure,
	} {
		err := mark(cause)
		var path *fs.PathError
		if err.Error() != cause.Error() || !errors.Is(err, errBase) || !errors.As(err, &path) || path != cause {
			t.Errorf("%s: %q hides %q or its cause", name, err, cause)
		}
	}
}

func TestClassifiers(t *testing.T) {
	asked := 0
	knows := func(class fault.Class) fault.Classifier {
		return func(err error) fault.Class {
			asked++
			if errors.Is(err, errBase) {
				return class
			}
			return fault.Unclassified
		}
	}
	silent := func(error) fault.Class { asked++; return fault.Unclassified }
	for _, tc := range []struct {
		name  string
		err   error
		cs    []fault.Classifier
		want  fault.Class
		asked int
	}{
		{"the first answer counts", fmt.Errorf("a: %w", errBase),
			[]fault.Classifier{silent, knows(fault.Infrastructure), knows(fault.Permanent)}, fault.Infrastructure, 2},
		{"nobody knows", errors.New("x"), []fault.Classifier{silent, knows(fault.Permanent)}, fault.Transient, 2},
		{"a mark is not questioned", fault.MarkPermanent(errBase),
			[]fault.Classifier{knows(fault.Infrastructure)}, fault.Permanent, 0},
	} {
		asked = 0
		if got := fault.Of(tc.err, tc.cs...); got != tc.want || asked != tc.asked {
			t.Errorf("%s: Of = %v after %d questions, want %v after %d", tc.name, got, asked, tc.want, tc.asked)
		}
	}
}

// Mark marks an error as Of classifies it, unless nothing classifies it.
func TestMark(t *testing.T) {
	knows := func(err error) fault.Class {
		if errors.Is(err, errBase) {
			return fault.Infrastructure
		}
		return fault.Unclassified
	}
	never := func(error) fault.Class { return fault.Permanent }
	for name, tc := range map[string]struct{ err, want error }{
		"known":   {fmt.Errorf("a: %w", errBase), fault.MarkInfrastructure(fmt.Errorf("a: %w", errBase))},
		"unknown": {fs.ErrExist, fs.ErrExist},
		"marked":  {fault.MarkPermanent(errBase), fault.MarkPermanent(errBase)},
		"nil":     {nil, nil},
	} {
		if got := fault.Mark(tc.err, knows); fault.Of(got, never) != fault.Of(tc.want, never) || !errors.Is(got, tc.err) {
			t.Errorf("%s: %v has the class %v, want %v", name, got, fault.Of(got, never), fault.Of(tc.want, never))
		}
	}
}

func TestNil(t *testing.T) {
	for name, mark := range map[string]func(error) error{
		"transient": fault.MarkTransient, "permanent": fault.MarkPermanent, "infrastructure": fault.MarkInfrastructure,
	} {
		if err := mark(nil); err != nil {
			t.Errorf("%s mark of nil = %v", name, err)
		}
	}
	assert.Equal(t, fault.Unclassified, fault.Of(nil, func(error) fault.Class { return fault.Permanent }), "Of(nil) =")
}

func TestClassString(t *testing.T) {
	for class, want := range map[fault.Class]string{
		fault.Transient: "transient", fault.Permanent: "permanent", fault.Infrastructure: "infrastructure",
		fault.Unclassified: "unclassified", 99: "unclassified",
	} {
		if got := class.String(); got != want {
			t.Errorf("Class(%d) = %q, want %q", uint8(class), got, want)
		}
	}
}
