package rest

import "testing"

func TestRouter(t *testing.T) {
	router, err := newRouter([]Route{
		{Name: "hold", Method: "POST", Pattern: "/api/v1/bookings/hold"},
		{Name: "get", Method: "GET", Pattern: "/api/v1/bookings/{id}"},
		{Name: "confirm", Method: "POST", Pattern: "/api/v1/bookings/{id}/confirm"},
		{Name: "list", Method: "GET", Pattern: "/api/v1/bookings"},
		{Name: "put", Method: "PUT", Pattern: "/api/v1/shows/{id}"},
		{Name: "show", Method: "GET", Pattern: "/api/v1/shows/{id}"},
		{Name: "healthz", Method: "GET", Pattern: "/healthz"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ method, path, route, param string }{
		{"POST", "/api/v1/bookings/hold", "hold", ""},
		{"GET", "/api/v1/bookings/BMS-1", "get", "BMS-1"},
		{"HEAD", "/api/v1/bookings/BMS-1", "get", "BMS-1"},
		{"POST", "/api/v1/bookings/BMS-1/confirm", "confirm", "BMS-1"},
		{"GET", "/api/v1/bookings", "list", ""},
		{"PUT", "/api/v1/shows/..", "put", ".."},
		{"GET", "/api/v1/shows/%41", "show", "%41"},
		{"GET", "/healthz", "healthz", ""},
		{"GET", "/api/v1/bookings/", "", ""},
		{"GET", "/api/v1/bookings/BMS-1/", "", ""},
		{"GET", "/api/v1//bookings", "", ""},
		{"GET", "/api/v1", "", ""},
		{"GET", "/", "", ""},
		{"GET", "", "", ""},
		{"GET", "*", "", ""},
		{"POST", "/api/v1/bookings", "405", ""},
		{"DELETE", "/api/v1/bookings", "405", ""},
		{"BREW", "/api/v1/bookings", "405", ""},
		{"GET", "/api/v1/bookings/hold", "405", ""},
	} {
		var params [pathParamsMax][]byte
		node := router.find([]byte(test.path), &params)
		got, param := "", ""
		if node != nil {
			got, param = "405", string(params[0])
			if method := methodIndex([]byte(test.method)); method != methodUnknown && node.routes[method] != nil {
				got = node.routes[method].Name
			}
		}
		if got != test.route || param != test.param {
			t.Errorf("%s %s: got route %q with %q, want %q with %q", test.method, test.path, got, param, test.route, test.param)
		}
	}
	if node := router.find([]byte("/api/v1/shows/1"), &[pathParamsMax][]byte{}); node.allow != "GET, HEAD, PUT, OPTIONS" {
		t.Errorf("Allow is %q", node.allow)
	}
}

func TestRouterRefusesATable(t *testing.T) {
	for name, routes := range map[string][]Route{
		"twice":          {{Name: "a", Method: "GET", Pattern: "/x/{id}"}, {Name: "b", Method: "GET", Pattern: "/x/{other}"}},
		"unknown method": {{Name: "a", Method: "PATCH", Pattern: "/x"}},
		"parameters":     {{Name: "a", Method: "GET", Pattern: "/{a}/{b}/{c}"}},
	} {
		if _, err := newRouter(routes); err == nil {
			t.Errorf("%s: the table was accepted", name)
		}
	}
}

func TestRouterAllocatesNothing(t *testing.T) {
	router, err := newRouter([]Route{{Name: "confirm", Method: "POST", Pattern: "/api/v1/bookings/{id}/confirm"}})
	if err != nil {
		t.Fatal(err)
	}
	path := []byte("/api/v1/bookings/BMS-000000000000000000000000/confirm")
	var params [pathParamsMax][]byte
	if allocations := testing.AllocsPerRun(100, func() { router.find(path, &params) }); allocations > 0 {
		t.Errorf("finding a route allocates %v times", allocations)
	}
}
