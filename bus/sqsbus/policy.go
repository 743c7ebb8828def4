package sqsbus

import (
	"bytes"
	"encoding/json"
)

// statement is a statement of a policy.
type statement struct {
	Effect    string
	Principal map[string]string
	Action    string
	Resource  string
	Condition map[string]map[string]string
}

// allowing returns a queue's policy with a statement that lets a topic of SNS send to it, or
// "" if one of its statements names the topic already. The others stay as they are.
func allowing(policy, queue, topic string) (string, error) {
	all := map[string]json.RawMessage{"Version": json.RawMessage(`"2012-10-17"`)}
	var statements []json.RawMessage
	if policy != "" {
		if err := json.Unmarshal([]byte(policy), &all); err != nil {
			return "", err
		}
		switch have := bytes.TrimSpace(all["Statement"]); {
		case bytes.HasPrefix(have, []byte("[")):
			if err := json.Unmarshal(have, &statements); err != nil {
				return "", err
			}
		case len(have) > 0:
			statements = append(statements, have) // a single one needs no list
		}
	}
	named, err := json.Marshal(topic)
	if err != nil {
		return "", err
	}
	for _, s := range statements {
		var is struct{ Effect string }
		if err := json.Unmarshal(s, &is); err != nil {
			return "", err
		}
		if is.Effect == "Allow" && bytes.Contains(s, named) {
			return "", nil
		}
	}
	ours, err := json.Marshal(statement{
		Effect: "Allow", Principal: map[string]string{"Service": "sns.amazonaws.com"}, Action: "sqs:SendMessage", Resource: queue,
		Condition: map[string]map[string]string{"ArnEquals": {"aws:SourceArn": topic}},
	})
	if err != nil {
		return "", err
	}
	if all["Statement"], err = json.Marshal(append(statements, ours)); err != nil {
		return "", err
	}
	out, err := json.Marshal(all)
	return string(out), err
}
