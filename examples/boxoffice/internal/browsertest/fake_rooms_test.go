package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// fakeRooms are the waiting rooms that an operator sees.
type fakeRooms struct {
	all   []*fakeRoom
	asked []string // the operator's actions
	away  bool     // no answers; reports repeat those of a minute ago
	seen  string   // that, as JSON
}

type fakeRoom struct {
	id, title                            string
	threshold, waiting, active, entitled int
	entered, assigned, serving           int64
	paused, gate                         bool
	rate, stock                          int
}

// busyRooms are two rooms with visitors, one that admits nobody, and two without
// visitors yet.
func busyRooms() fakeRooms {
	return fakeRooms{all: []*fakeRoom{
		{id: "show-1", title: "Moonlight Parade", threshold: 100, waiting: 1204, active: 97, entitled: 12, entered: 3796, rate: 10, stock: 230},
		{id: "show-2", title: "The Paper Kites of Busan", threshold: 1000, waiting: 84_310, active: 1000, entitled: 140, entered: 21_406, rate: 100, gate: true, assigned: 190_000, serving: 105_500},
		{id: "show-3", title: "Night Train to Gangneung", threshold: 500, waiting: 61, active: 180, entered: 902, paused: true},
		{id: "show-4", title: "A Hundred Small Drums", threshold: 1000},
		{id: "show-5", title: "Winter, Unplugged", threshold: 1000},
	}}
}

func (r *fakeRoom) state() map[string]any {
	state := map[string]any{
		"threshold": r.threshold, "paused": r.paused, "gated": r.gate, "settlingSeconds": 0, "waiting": r.waiting, "active": r.active, "entitled": r.entitled,
		"returning": r.waiting / 100, "laned": r.entitled / 4, "stock": nil, "shares": map[string]float64{"member": 0.3},
		"joined": r.entered + int64(r.waiting), "entered": r.entered, "noShows": r.entered / 120, "expired": 4, "departed": r.entered - int64(r.active), "swept": r.waiting / 40,
	}
	if r.stock > 0 {
		state["stock"] = r.stock
	}
	return state
}

// report is the answer to the nth look. For the first seconds nothing is known.
func (r *fakeRooms) report(n int) map[string]any {
	if r.away {
		var before map[string]any
		if err := json.Unmarshal([]byte(r.seen), &before); err != nil {
			panic(err)
		}
		return before
	}
	return r.look(n, 0.4, "")
}

func (r *fakeRooms) look(n int, age float64, trouble string) map[string]any {
	var shows []map[string]any
	for i, room := range r.all {
		perSecond := make([]any, 120)
		for s := 20; s < 120; s++ {
			at := n + s
			perSecond[s] = float64(room.rate*(70+at*37%41)) / 100
			if room.paused && s > 90 || at%50 < 4 {
				perSecond[s] = 0.0
			}
		}
		shows = append(shows, map[string]any{
			"eventId": room.id, "title": room.title, "ageSeconds": age, "error": trouble, "state": room.state(),
			"gate": map[string]any{"on": room.gate, "assigned": room.assigned, "serving": room.serving}, "gateError": "",
			"admitted": map[string]any{"until": 1772366585 + n, "perSecond": perSecond},
		})
		if i == 4 { // it never answered
			for _, name := range []string{"ageSeconds", "state", "gate"} {
				shows[i][name] = nil
			}
			shows[i]["error"] = "queue: the store cannot be asked; nobody enters"
			shows[i]["admitted"] = map[string]any{"until": 0, "perSecond": make([]any, 120)}
		}
	}
	return map[string]any{"shows": shows, "error": ""}
}

// goAway makes the store unreachable; reports repeat the last known state.
func (r *fakeRooms) goAway(n int) {
	text, err := json.Marshal(r.look(n, 60, "queue: the store cannot be asked; nobody enters"))
	if err != nil {
		panic(err)
	}
	r.away, r.seen = true, string(text)
}

func (f *fake) roomRoutes(mux *http.ServeMux) {
	handle := func(pattern, name string, change func(*fakeRoom, *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			defer f.mu.Unlock()
			var room *fakeRoom
			for _, other := range f.rooms.all {
				if other.id == r.PathValue("id") {
					room = other
				}
			}
			switch {
			case r.Header.Get("Authorization") != "Bearer "+fakeAdmin:
				problem(w, 401, "Admin token needed", "Send the token that the box office has printed.")
			case room == nil:
				problem(w, 404, "No such show", "")
			case f.rooms.away:
				problem(w, 503, "Not now", "The waiting room cannot be asked.")
			default:
				body, err := change(room, r)
				if err != nil {
					problem(w, 400, "Bad request", err.Error())
					return
				}
				f.rooms.asked = append(f.rooms.asked, fmt.Sprint(name, " ", room.id))
				answer(w, 200, body)
			}
		})
	}
	// An operator's answer has other names than a report.
	told := func(r *fakeRoom) map[string]any {
		s := r.state()
		s["currentUsers"], s["queueSize"], s["settling"] = s["active"], s["waiting"], 0
		for _, name := range []string{"active", "waiting", "settlingSeconds"} {
			delete(s, name)
		}
		return s
	}
	handle("PUT /api/queue/admin/threshold/{id}", "threshold", func(room *fakeRoom, r *http.Request) (any, error) {
		var in struct{ Threshold *int }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Threshold == nil || *in.Threshold < 0 {
			return nil, fmt.Errorf("no threshold (%w)", err)
		}
		room.threshold = *in.Threshold
		return told(room), nil
	})
	for name, change := range map[string]func(*fakeRoom){
		"pause":  func(room *fakeRoom) { room.paused = true },
		"resume": func(room *fakeRoom) { room.paused = false },
		"clear":  func(room *fakeRoom) { room.waiting, room.active, room.entitled, room.entered = 0, 0, 0, 0 },
	} {
		handle("POST /api/queue/admin/"+name+"/{id}", name, func(room *fakeRoom, _ *http.Request) (any, error) {
			change(room)
			return told(room), nil
		})
	}
	for name, change := range map[string]func(*fakeRoom) int64{
		"activate":   func(room *fakeRoom) int64 { room.gate = true; room.assigned += 1200; return 0 },
		"deactivate": func(room *fakeRoom) int64 { room.gate, room.serving = false, room.assigned; return 0 },
		"advance":    func(room *fakeRoom) int64 { room.serving += 500; return 500 },
	} {
		handle("POST /api/admin/vwr/"+name+"/{id}", name, func(room *fakeRoom, _ *http.Request) (any, error) {
			moved := change(room)
			return map[string]any{
				"eventId": room.id, "active": room.gate, "nextPosition": room.assigned, "servingCounter": room.serving, "waiting": room.assigned - room.serving, "advanced": moved,
			}, nil
		})
	}
}
