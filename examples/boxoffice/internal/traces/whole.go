package traces

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// Whole names the missing part of a trace that goes from an HTTP request to a frame
// of a live stream, in this order: the request; the event that it created; the send
// of that event, which links to it and is of a trace of its own; the consumer that
// processed it, its child; and the delivery that follows, below that consumer. No
// span of it is without its parent but the first.
func Whole(spans []Span, of trace.TraceID) error {
	roots := Tree(spans, of)
	if len(roots) == 0 {
		return errors.New("there is no span of the trace")
	}
	var errs []error
	for _, r := range roots[1:] {
		errs = append(errs, fmt.Errorf("the parent of %q is missing", r.Name))
	}
	request := roots[0]
	if request.Kind != trace.SpanKindServer {
		errs = append(errs, fmt.Errorf("it begins with %q, and not with a request", request.Name))
	}
	far := 0 // how far the best of the created events came
	for _, created := range request.all(func(n *Node) bool { return !n.Linked && strings.HasPrefix(n.Name, "create ") }) {
		topic := strings.TrimPrefix(created.Name, "create ")
		far = max(far, 1)
		if !slices.ContainsFunc(created.Children, func(n *Node) bool { return n.Linked && n.Name == "send "+topic }) {
			continue
		}
		far = max(far, 2)
		for _, done := range created.Children {
			if done.Linked || done.Name != "process "+topic || done.Kind != trace.SpanKindConsumer {
				continue
			}
			far = max(far, 3)
			if len(done.all(func(n *Node) bool { return !n.Linked && strings.HasPrefix(n.Name, "deliver ") })) > 0 {
				far = 4
			}
		}
	}
	if far < 4 {
		errs = append(errs, errors.New([...]string{
			"no event was created under the request",
			"no send links to an event that was created",
			"no consumer processed an event that was sent",
			"nothing was delivered below a consumer",
		}[far]))
	}
	return errors.Join(errs...)
}

// all returns the nodes below n for which is returns true.
func (n *Node) all(is func(*Node) bool) (found []*Node) {
	for _, c := range n.Children {
		if is(c) {
			found = append(found, c)
		}
		found = append(found, c.all(is)...)
	}
	return found
}
