package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
)

func (a *app) dlqEditCommand() *cobra.Command {
	var raw, file string
	cmd := a.letterCommand(&cobra.Command{
		Use: "edit TOPIC ID", Short: "Replace a dead letter's payload",
		Long: "edit opens the payload in $VISUAL or $EDITOR, or takes it from --payload. Id and metadata stay, and an event must stay one with the same id and key. " +
			"The edited letter goes to the end of the topic; redrive it when it is right.",
		Example: "  millrace dlq edit dlq.payment 0199a7c2-7f00-7abc-8def-000000000001 --bus kafka://k1,k2,k3/\n" +
			"  jq '.data.amount = 150000' letter.json | millrace dlq edit dlq.payment 0199a7c2-7f00-7abc-8def-000000000001 --payload -",
		Args: topicAnd(1, "the letter's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, id := cmd.Context(), args[1]
			var payload []byte
			if file != "" {
				var err error
				if payload, err = a.read(file); err != nil {
					return err
				}
			} else if a.editor() == "" {
				return usage("set $VISUAL or $EDITOR, or give --payload FILE")
			}
			return a.withLetters(ctx, raw, args[0], func(l letters) error {
				if file == "" {
					letter, err := l.Show(ctx, id)
					if err != nil {
						return l.nearestID(ctx, id, err)
					}
					if payload, err = a.edit(ctx, letter.Payload); err != nil {
						return err
					}
					if payload == nil {
						return a.edited(args[0], id, false)
					}
				}
				if err := l.Edit(ctx, id, payload); err != nil {
					if file == "" {
						a.keep(payload)
					}
					return l.nearestID(ctx, id, err)
				}
				return a.edited(args[0], id, true)
			})
		},
	}, &raw)
	cmd.Flags().StringVar(&file, "payload", "", "file with the new payload, - for the standard input")
	offersFiles(cmd, "payload")
	return cmd
}

// edited prints the outcome of an edit.
func (a *app) edited(topic, id string, changed bool) error {
	text := "nothing was changed"
	if changed {
		text = fmt.Sprintf("the payload was replaced; `millrace dlq redrive %s %s` publishes it", plain(topic), plain(id))
	}
	return a.answer(map[string]any{"topic": topic, "id": id, "changed": changed}, "%s", text)
}

// keep saves an edited payload that the topic did not accept.
func (a *app) keep(payload []byte) {
	f, err := os.CreateTemp("", "millrace-edit-*.json")
	if err == nil {
		_, err = f.Write(payload)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		a.say("what you wrote could not be kept: %v", err)
		return
	}
	a.say("what you wrote is in %s; give it by --payload", f.Name())
}

func (a *app) read(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(a.In)
	}
	return os.ReadFile(file)
}

// editor is the command that edits a file.
func (a *app) editor() string {
	if a.Edit != nil {
		return "edit"
	}
	return cmp.Or(a.Env("VISUAL"), a.Env("EDITOR"))
}

// edit lets a person change a payload; nil means unchanged. JSON is indented meanwhile.
// When the editor fails, its file stays, so that no work is lost.
func (a *app) edit(ctx context.Context, payload []byte) (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "millrace-edit-*") // only this user may read it
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "payload.json")
	before := []byte(pretty(payload))
	if err := os.WriteFile(path, before, 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := a.runEditor(ctx, path); err != nil {
		return nil, fmt.Errorf("the editor failed, what it wrote is in %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	after, err := os.ReadFile(path)
	if err != nil || bytes.Equal(bytes.TrimRight(after, "\n"), bytes.TrimRight(before, "\n")) {
		return nil, err
	}
	if !bytes.HasSuffix(before, []byte("\n")) { // editors end the last line
		after = bytes.TrimSuffix(after, []byte("\n"))
	}
	// A payload that was on one line comes back on one line.
	var compact bytes.Buffer
	if !bytes.Equal(before, payload) && json.Compact(&compact, after) == nil {
		return compact.Bytes(), nil
	}
	return after, nil
}

func (a *app) runEditor(ctx context.Context, path string) error {
	if a.Edit != nil {
		return a.Edit(ctx, path)
	}
	// The variable may hold arguments, such as "code --wait".
	editor := exec.CommandContext(ctx, "sh", "-c", a.editor()+` "$1"`, "sh", path)
	editor.Stdin, editor.Stdout, editor.Stderr = a.In, a.Err, a.Err
	return editor.Run()
}
