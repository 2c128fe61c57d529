package rest

import "strings"

// Handler answers a call, or returns an error for the server to answer with (see Server.answerError).
type Handler func(*Call) error

// Route is one line of the API.
type Route struct {
	Name    string // of the operation, in openapi.yaml and in metrics
	Method  string
	Pattern string // segments are literal or {name}; a parameter is one segment
	Role    Role   // the least role that may call it
	Handle  Handler

	noStore bool          // answers must not be cached: they are about one buyer
	metrics *routeMetrics // set by New
}

// apiBase is where the API lives; pages and operations live beside it.
const apiBase = "/api/v1"

// routes is the whole API: every path that is not here is 404.
func (s *Server) routes() []Route {
	var routes []Route
	routes = append(routes, s.catalogueRoutes()...)
	routes = append(routes, s.seatMapRoutes()...)
	routes = append(routes, s.bookingRoutes()...)
	routes = append(routes, s.staffRoutes()...)
	return append(routes, s.operationRoutes()...)
}

func (s *Server) bookingRoutes() []Route {
	return []Route{
		{Name: "holdSeats", Method: "POST", Pattern: apiBase + "/bookings/hold", Role: RoleBuyer, Handle: s.holdSeats, noStore: true},
		{Name: "confirmBooking", Method: "POST", Pattern: apiBase + "/bookings/{id}/confirm", Role: RoleSeller, Handle: s.confirmBooking, noStore: true},
		{Name: "releaseBooking", Method: "POST", Pattern: apiBase + "/bookings/{id}/release", Role: RoleBuyer, Handle: s.releaseBooking, noStore: true},
		{Name: "extendBooking", Method: "POST", Pattern: apiBase + "/bookings/{id}/extend", Role: RoleBuyer, Handle: s.extendBooking, noStore: true},
		{Name: "cancelBooking", Method: "POST", Pattern: apiBase + "/bookings/{id}/cancel", Role: RoleBuyer, Handle: s.cancelBooking, noStore: true},
		{Name: "getBooking", Method: "GET", Pattern: apiBase + "/bookings/{id}", Role: RoleBuyer, Handle: s.getBooking, noStore: true},
		{Name: "listBookings", Method: "GET", Pattern: apiBase + "/bookings", Role: RoleBuyer, Handle: s.listBookings, noStore: true},
		{Name: "findBooking", Method: "GET", Pattern: apiBase + "/shows/{id}/bookings", Role: RoleBuyer, Handle: s.findBooking, noStore: true},
	}
}

func (s *Server) staffRoutes() []Route {
	return []Route{
		{Name: "blockSeats", Method: "POST", Pattern: apiBase + "/shows/{id}/block", Role: RoleStaff, Handle: s.blockSeats, noStore: true},
		{Name: "unblockSeats", Method: "POST", Pattern: apiBase + "/shows/{id}/unblock", Role: RoleStaff, Handle: s.unblockSeats, noStore: true},
		{Name: "pauseShow", Method: "POST", Pattern: apiBase + "/shows/{id}/pause", Role: RoleStaff, Handle: s.pauseShow, noStore: true},
		{Name: "resumeShow", Method: "POST", Pattern: apiBase + "/shows/{id}/resume", Role: RoleStaff, Handle: s.resumeShow, noStore: true},
		{Name: "closeShow", Method: "POST", Pattern: apiBase + "/shows/{id}/close", Role: RoleStaff, Handle: s.closeShow, noStore: true},
		{Name: "cancelShow", Method: "POST", Pattern: apiBase + "/shows/{id}/cancel", Role: RoleStaff, Handle: s.cancelShow, noStore: true},
		{Name: "auditShow", Method: "GET", Pattern: apiBase + "/shows/{id}/audit", Role: RoleStaff, Handle: s.auditShow, noStore: true},
	}
}

func (s *Server) operationRoutes() []Route {
	routes := []Route{
		{Name: "root", Method: "GET", Pattern: "/", Role: RolePublic, Handle: s.root, noStore: true},
		{Name: "healthz", Method: "GET", Pattern: "/healthz", Role: RolePublic, Handle: s.healthz, noStore: true},
		{Name: "readyz", Method: "GET", Pattern: "/readyz", Role: RolePublic, Handle: s.readyz, noStore: true},
		{Name: "metrics", Method: "GET", Pattern: "/metrics", Role: RoleObserver, Handle: s.showMetrics, noStore: true},
		{Name: "getCluster", Method: "GET", Pattern: apiBase + "/cluster", Role: RoleObserver, Handle: s.getCluster, noStore: true},
		{Name: "audit", Method: "GET", Pattern: apiBase + "/audit", Role: RoleObserver, Handle: s.audit, noStore: true},
	}
	if s.cfg.TestClock {
		routes = append(routes, Route{
			Name: "advanceTestClock", Method: "POST", Pattern: apiBase + "/test/clock/advance", Role: RoleAdmin,
			Handle: s.advanceTestClock, noStore: true,
		})
	}
	return routes
}

// Routes lists the API's routes, for contract tests and documentation.
func (s *Server) Routes() []Route { return s.table }

// params gives the names of a pattern's parameters, in order.
func (r *Route) params() []string {
	var names []string
	for _, segment := range strings.Split(r.Pattern, "/") {
		if strings.HasPrefix(segment, "{") {
			names = append(names, strings.Trim(segment, "{}"))
		}
	}
	return names
}
