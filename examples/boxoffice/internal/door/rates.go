package door

// cost are the routes that are costly for an unknown client: a member or a position
// is made, a visit is counted, or an operator's token is tried.
type cost struct{ method, prefix, suffix string }

func costs() []cost {
	return []cost{
		{"POST", "/api/login", ""},
		{"POST", "/vwr/assign/", ""},
		{"POST", "/api/shows/", "/view"},
		{"", "/api/admin/", ""},
		{"", "/api/queue/admin/", ""},
		{"POST", "/api/shows/", "/vote/close"},
	}
}
