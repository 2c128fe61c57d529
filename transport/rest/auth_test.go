package rest

import (
	"net"
	"testing"
)

func TestLoopbackHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost:8080": true, "127.0.0.1": true, "127.0.0.1:8080": true, "127.200.3.4:1": true, "[::1]": true, "[::1]:8080": true,
		"": false, "example.com": false, "localhost.example.com": false, "127.0.0.1.example.com": false, "10.0.0.1:8080": false, "0.0.0.0": false,
		"::1": false, "[::1": false, "[::1]x": false, "[::2]": false, "[127.0.0.1]": false, "localhost:": false, "localhost:80a": false, "localhost:123456": false,
		"localhost:80:80": false, "[fe80::1%lo]": false, "2130706433": false, "127.1": false, "[::ffff:127.0.0.1]": false, "user@localhost": false,
	} {
		if got := loopbackHost([]byte(host)); got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
}

func TestLoopbackListener(t *testing.T) {
	for address, want := range map[net.Addr]bool{
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}: true, &net.TCPAddr{IP: net.IPv6loopback}: true, &net.UnixAddr{Name: "/x"}: true,
		&net.TCPAddr{IP: net.IPv4zero}: false, &net.TCPAddr{}: false, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}: false,
	} {
		if got := loopbackListener(address); got != want {
			t.Errorf("%v: got %v, want %v", address, got, want)
		}
	}
}

func TestRolePermits(t *testing.T) {
	permitted := map[Role][]Role{
		RolePublic:   {RolePublic},
		RoleBuyer:    {RolePublic, RoleBuyer},
		RoleSeller:   {RolePublic, RoleBuyer, RoleSeller},
		RoleStaff:    {RolePublic, RoleStaff},
		RoleObserver: {RolePublic, RoleObserver},
		RoleAdmin:    {RolePublic, RoleBuyer, RoleSeller, RoleStaff, RoleObserver, RoleAdmin},
	}
	for role, may := range permitted {
		for need := RolePublic; need <= RoleAdmin; need++ {
			want := false
			for _, r := range may {
				want = want || r == need
			}
			if got := role.permits(need); got != want {
				t.Errorf("a %s on a route for %s: got %v, want %v", role, need, got, want)
			}
		}
	}
}

// A show's audit is among the calls of its staff; a node's is for who watches the cluster.
func TestAuditRoles(t *testing.T) {
	want := map[string]Role{"auditShow": RoleStaff, "audit": RoleObserver, "getCluster": RoleObserver, "metrics": RoleObserver, "root": RolePublic}
	s := &Server{}
	for _, route := range s.routes() {
		if role, ok := want[route.Name]; ok && role != route.Role {
			t.Errorf("%s needs the role %s, want %s", route.Name, route.Role, role)
		}
		delete(want, route.Name)
	}
	if len(want) > 0 {
		t.Errorf("there are no routes %v", want)
	}
}

func TestMayActFor(t *testing.T) {
	buyer, seller := Principal{Role: RoleBuyer, User: "u1"}, Principal{Role: RoleSeller}
	if !buyer.mayActFor("u1") || buyer.mayActFor("u2") || buyer.mayActFor("") || !seller.mayActFor("u2") {
		t.Error("a buyer acts for itself, a seller for anybody")
	}
}
