package snstest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
)

// pass forwards a request to the SQS server. That server has no policies, so they are stored
// here.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, operation string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	var ask struct {
		QueueUrl       string //nolint:revive // the name of the protocol
		Attributes     map[string]string
		AttributeNames []string
	}
	if err := json.Unmarshal(body, &ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	policy := false
	switch operation {
	case "CreateQueue":
		if ask.Attributes["Policy"] != "" {
			var whole map[string]any
			if err := json.Unmarshal(body, &whole); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			delete(whole["Attributes"].(map[string]any), "Policy")
			if body, err = json.Marshal(whole); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
	case "SetQueueAttributes":
		if given, ok := ask.Attributes["Policy"]; ok {
			s.mu.Lock()
			s.policies[ask.QueueUrl] = given
			s.mu.Unlock()
		}
	case "GetQueueAttributes":
		if policy = slices.Contains(ask.AttributeNames, "Policy"); policy {
			ask.AttributeNames = slices.DeleteFunc(ask.AttributeNames, func(name string) bool { return name == "Policy" })
			if body, err = json.Marshal(map[string]any{"QueueUrl": ask.QueueUrl, "AttributeNames": ask.AttributeNames}); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
	}
	status, header, answer, err := s.forward(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if operation == "CreateQueue" && status == http.StatusOK {
		var made struct{ QueueUrl string } //nolint:revive // the name of the protocol
		if err := json.Unmarshal(answer, &made); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		s.mu.Lock()
		if _, there := s.policies[made.QueueUrl]; !there {
			s.policies[made.QueueUrl] = ask.Attributes["Policy"]
		}
		s.mu.Unlock()
	}
	if policy && status == http.StatusOK {
		if answer, err = s.withPolicy(answer, ask.QueueUrl); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	w.Write(answer) //nolint:errcheck // the client sees what is missing
}

func (s *Server) forward(r *http.Request, body []byte) (int, http.Header, []byte, error) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, s.url+r.URL.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	out.Header = r.Header.Clone()
	answer, err := s.transport.RoundTrip(out)
	if err != nil {
		return 0, nil, nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	all, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, all, err
}

func (s *Server) withPolicy(answer []byte, queueURL string) ([]byte, error) {
	var got struct{ Attributes map[string]string }
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.policies[queueURL]; have != "" {
		got.Attributes["Policy"] = have
	}
	return json.Marshal(got)
}
