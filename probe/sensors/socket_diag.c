#include "probe/sensors/socket_diag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define ANSWER_LEN (32 * 1024) /* the kernel fills no larger message of a dump */

static int ask(int netlink, const struct socket_query *query, struct err *e)
{
	struct {
		struct nlmsghdr header;
		union {
			struct inet_diag_req_v2 inet;
			struct unix_diag_req unix_;
		};
	} request = {
		.header = { .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
	};
	size_t len = sizeof(request.header);
	if (query->family == AF_UNIX) {
		request.unix_ =
			(struct unix_diag_req){ .sdiag_family = AF_UNIX,
						.udiag_states = query->states,
						.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER };
		len += sizeof(request.unix_);
	} else {
		request.inet = (struct inet_diag_req_v2){
			.sdiag_family = (uint8_t)query->family,
			.sdiag_protocol = query->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP,
			.idiag_states = query->states,
		};
		len += sizeof(request.inet);
	}
	request.header.nlmsg_len = (uint32_t)len;
	return send(netlink, &request, len, 0) < 0 ? err_sys(e, "ask for sockets") : 0;
}

static void take_name(struct socket_info *info, const void *bytes, size_t len)
{
	info->name_len = len < sizeof(info->name) ? len : sizeof(info->name);
	memcpy(info->name, bytes, info->name_len);
	/* A path is told with the NUL that ends it. */
	if (info->name_len && info->name[0])
		info->name_len = strnlen(info->name, info->name_len);
}

static bool parse_unix(const void *bytes, size_t len, struct socket_info *ret)
{
	struct unix_diag_msg msg;
	if (len < sizeof(msg))
		return false;
	memcpy(&msg, bytes, sizeof(msg));
	*ret = (struct socket_info){ .family = AF_UNIX,
				     .type = msg.udiag_type,
				     .state = msg.udiag_state,
				     .ino = msg.udiag_ino };
	for (size_t at = NLMSG_ALIGN(sizeof(msg)); at + sizeof(struct rtattr) <= len;) {
		struct rtattr attr;
		memcpy(&attr, (const char *)bytes + at, sizeof(attr));
		if (attr.rta_len < sizeof(attr) || attr.rta_len > len - at)
			return false;
		const char *value = (const char *)bytes + at + sizeof(attr);
		size_t value_len = attr.rta_len - sizeof(attr);
		if (attr.rta_type == UNIX_DIAG_NAME)
			take_name(ret, value, value_len);
		else if (attr.rta_type == UNIX_DIAG_PEER && value_len == sizeof(ret->peer))
			memcpy(&ret->peer, value, sizeof(ret->peer));
		at += RTA_ALIGN(attr.rta_len);
	}
	return true;
}

static bool parse_inet(const struct socket_query *query, const void *bytes, size_t len,
		       struct socket_info *ret)
{
	struct inet_diag_msg msg;
	if (len < sizeof(msg))
		return false;
	memcpy(&msg, bytes, sizeof(msg));
	*ret = (struct socket_info){ .family = msg.idiag_family,
				     .type = query->type,
				     .state = msg.idiag_state,
				     .ino = msg.idiag_inode,
				     .port = ntohs(msg.id.idiag_sport) };
	memcpy(ret->address, msg.id.idiag_src, sizeof(ret->address));
	return msg.idiag_family == query->family;
}

bool socket_diag_parse(const struct socket_query *query, const void *bytes, size_t len,
		       struct socket_info *ret)
{
	return query->family == AF_UNIX ? parse_unix(bytes, len, ret)
					: parse_inet(query, bytes, len, ret);
}

struct answer {
	const struct socket_query *query;
	int (*each)(void *with, const struct socket_info *info);
	void *with;
	int r; /* what each() returned first that was not 0: the rest is read, and not told */
};

/* 1: there is more to come. */
static int take_answer(struct answer *a, const char *bytes, size_t len, struct err *e)
{
	for (size_t at = 0; at + sizeof(struct nlmsghdr) <= len;) {
		const struct nlmsghdr *header = (const void *)(bytes + at);
		if (header->nlmsg_len < sizeof(*header) || header->nlmsg_len > len - at)
			return err_set(e, EPROTO, "the kernel's answer about sockets is cut");
		const void *body = bytes + at + NLMSG_HDRLEN;
		size_t body_len = header->nlmsg_len - NLMSG_HDRLEN;
		struct socket_info info;
		if (header->nlmsg_type == NLMSG_DONE)
			return 0;
		if (header->nlmsg_type == NLMSG_ERROR) {
			int code = body_len >= sizeof(int) ? -*(const int *)body : EPROTO;
			return err_set(e, code, "ask for sockets: %s", strerrordesc_np(code));
		}
		if (!a->r && socket_diag_parse(a->query, body, body_len, &info))
			a->r = a->each(a->with, &info);
		at += NLMSG_ALIGN(header->nlmsg_len);
	}
	return 1;
}

int socket_diag(int netlink, const struct socket_query *query,
		int (*each)(void *with, const struct socket_info *info), void *with, struct err *e)
{
	cleanup_free char *room = malloc(ANSWER_LEN);
	if (!room)
		return err_sys(e, "ask for sockets");
	struct answer answer = { query, each, with, 0 };
	int r = ask(netlink, query, e);
	if (r)
		return r;
	do {
		ssize_t n = recv(netlink, room, ANSWER_LEN, 0);
		if (n < 0)
			return err_sys(e, "hear about sockets");
		r = take_answer(&answer, room, (size_t)n, e);
	} while (r > 0);
	return r ? r : answer.r;
}
