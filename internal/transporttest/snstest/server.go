// Package snstest is a stand-in for Amazon SNS, for tests. It implements SNS's query protocol as
// far as the transport sns:// uses it, delivers published messages to the queues of an
// SQS-compatible server, and forwards requests for SQS to that server, so that one endpoint has
// both.
//
//	endpoint := snstest.Start(t, servicetest.SQS(t))
//
// Like Amazon it delivers to a queue only if the queue's policy allows the topic, wraps messages
// that are not delivered raw, refuses a topic or a subscription that exists with other
// attributes or tags, and lists topics in pages. It checks no signature and no permission,
// repeats no delivery, and detects no duplicates, which FIFO queues do.
package snstest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// page is how many topics an answer lists; Amazon lists a hundred.
const page = 3

// Server is the stand-in.
type Server struct {
	url       string // of the SQS server
	transport *http.Transport
	client    *sqs.Client

	mu       sync.Mutex
	topics   []*topic
	policies map[string]string // by the queue's URL
	asked    []string          // the actions so far
	denied   []string          // actions that are denied
}

type topic struct {
	arn           string
	attributes    map[string]string
	tags          map[string]string
	subscriptions []*subscription
}

type subscription struct {
	arn, queue string // queue: its ARN
	attributes map[string]string
}

// Start serves until the test ends.
func Start(t testing.TB, sqsEndpoint string) (*Server, string) {
	t.Helper()
	s := &Server{url: sqsEndpoint, transport: &http.Transport{}, policies: make(map[string]string)}
	s.client = sqs.New(sqs.Options{
		BaseEndpoint: &sqsEndpoint, Region: "elasticmq", HTTPClient: &http.Client{Transport: s.transport},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.Close()
		s.transport.CloseIdleConnections()
	})
	return s, server.URL
}

// Asked returns the requested actions of SNS and SQS, in order.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Deny refuses some actions from now on.
func (s *Server) Deny(actions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = actions
}

func (s *Server) denies(action string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.denied, action)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, operation, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "AmazonSQS."); ok {
		s.note(operation)
		s.pass(w, r, operation)
		return
	}
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.note(r.Form.Get("Action"))
	s.answer(w, r)
}

func (s *Server) note(action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, action)
}

// allows reports whether a queue's policy allows a topic to send to it.
func (s *Server) allows(queueURL, topicARN string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var policy struct {
		Statement []struct {
			Effect, Action string
			Principal      map[string]string
			Condition      map[string]map[string]string
		}
	}
	if json.Unmarshal([]byte(s.policies[queueURL]), &policy) != nil {
		return false
	}
	for _, one := range policy.Statement {
		if one.Effect == "Allow" && one.Action == "sqs:SendMessage" && one.Principal["Service"] == "sns.amazonaws.com" && one.Condition["ArnEquals"]["aws:SourceArn"] == topicARN {
			return true
		}
	}
	return false
}
