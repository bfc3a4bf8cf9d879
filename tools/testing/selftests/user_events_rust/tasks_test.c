// SPDX-License-Identifier: GPL-2.0
/*
 * Owners of enable bits of tasks that share an address space in unusual ways:
 * the bits belong to the address space, and are removed with its last user.
 *
 * All of it holds for the C and for the Rust implementation, as the address space
 * has a bit before the tasks share it; see row mm-wide-enable otherwise.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "kselftest_harness.h"
#include "ue.h"

UE_FIXTURE(tasks)

#define STACK_SIZE 65536

/* Messages between the tasks of a test. */
struct talk {
	int fd;
	volatile uint32_t *w;
	/* The step that the parent, and the child, have reached; or an error. */
	int parent, child;
};

static struct talk *new_talk(int fd, volatile uint32_t *w)
{
	struct talk *talk = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (talk == MAP_FAILED)
		return NULL;
	*talk = (struct talk) { .fd = fd, .w = w };
	return talk;
}

static void say(int *step, int value)
{
	__atomic_store_n(step, value, __ATOMIC_RELEASE);
}

static bool heard(int *step, int value)
{
	return ue_poll(__atomic_load_n(step, __ATOMIC_ACQUIRE) == value);
}

/* A process of its own, in the same memory. */
static pid_t clone_vm(int (*run)(void *), struct talk *talk)
{
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		return -1;
	return clone(run, stack + STACK_SIZE, CLONE_VM | SIGCHLD, talk);
}

static int register_and_wait(void *data)
{
	struct talk *talk = data;

	say(&talk->child, ue_reg(talk->fd, &talk->w[0], 0, "tasks u32 a") ?: 1);
	return heard(&talk->parent, 1) ? 0 : 1;
}

TEST_F(tasks, clone_vm_bits_are_shared)
{
	struct talk *talk = new_talk(self->fd, self->w);
	int status;
	pid_t pid;

	ASSERT_NE(NULL, talk);
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[1], 0, "tasks u32 a"));
	pid = clone_vm(register_and_wait, talk);
	ASSERT_LT(0, pid);
	ASSERT_TRUE(heard(&talk->child, 1));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 0, "tasks u32 a"));
	EXPECT_EQ(0, ue_enable("tasks", true));
	EXPECT_EQ(1, self->w[0]);

	/* The process that registered it exits, and takes nothing away. */
	say(&talk->parent, 1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, ue_enable("tasks", false));
	EXPECT_TRUE(ue_poll(self->w[0] == 0));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, &self->w[0], 0));
}

static int follow(void *data)
{
	struct talk *talk = data;

	say(&talk->child, 1);
	/* The process that registered is a zombie by now. */
	if (!heard(&talk->parent, 1))
		say(&talk->child, -1);
	if (!ue_poll(talk->w[0] == 1))
		say(&talk->child, -2);
	if (ue_unreg(talk->fd, &talk->w[0], 0))
		say(&talk->child, -3);
	if (talk->w[0])
		say(&talk->child, -4);
	if (ue_reg(talk->fd, &talk->w[1], 0, "tasks u32 a") || talk->w[1] != 1)
		say(&talk->child, -5);
	if (talk->child == 1)
		say(&talk->child, 2);
	heard(&talk->parent, 2);
	return 0;
}

TEST_F(tasks, clone_vm_the_one_that_registered_exits_first)
{
	struct talk *talk = new_talk(self->fd, self->w);
	siginfo_t info = {};
	pid_t pid;

	ASSERT_NE(NULL, talk);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* A file of its own, as that is a user of the event, too. */
		talk->fd = ue_open();
		if (ue_reg(talk->fd, &self->w[0], 0, "tasks u32 a"))
			_exit(1);
		if (clone_vm(follow, talk) < 0)
			_exit(2);
		_exit(!heard(&talk->child, 1));
	}
	ASSERT_EQ(0, waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	EXPECT_EQ(0, info.si_status);
	EXPECT_EQ(0, ue_enable("tasks", true));
	EXPECT_EQ(0, self->w[0]);
	say(&talk->parent, 1);
	EXPECT_TRUE(heard(&talk->child, 2)) {
		TH_LOG("the child: %d", talk->child);
	}

	/* With the last task of the address space its bits are removed. */
	EXPECT_EQ(0, ue_enable("tasks", false));
	EXPECT_TRUE(ue_exists("tasks"));
	say(&talk->parent, 2);
	EXPECT_TRUE(ue_gone("tasks"));
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
}

TEST_F(tasks, vfork_exec_leaves_the_bits_to_the_parent)
{
	volatile int ret = -1;
	int status;
	pid_t pid;

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[1], 0, "tasks u32 a"));
	pid = vfork();
	if (!pid) {
		ret = ue_reg(self->fd, &self->w[0], 0, "tasks u32 a");
		execl("/bin/sh", "sh", "-c", "echo 1 >" UE_EVENTS "/tasks/enable", NULL);
		_exit(1);
	}
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, ret);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(0, ue_enable("tasks", false));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
}

static void *outlive(void *data)
{
	exit(follow(data));
}

TEST_F(tasks, leader_bits_stay_with_the_other_threads)
{
	struct talk *talk = new_talk(self->fd, self->w);
	pthread_t thread;
	int status;
	pid_t pid;

	ASSERT_NE(NULL, talk);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		talk->fd = ue_open();
		if (ue_reg(talk->fd, &self->w[0], 0, "tasks u32 a") ||
		    pthread_create(&thread, NULL, outlive, talk))
			_exit(1);
		pthread_exit(NULL);
	}
	ASSERT_TRUE(heard(&talk->child, 1));
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(ue_path("/proc/%d/stat", pid)), ") Z ")));
	EXPECT_EQ(0, ue_enable("tasks", true));
	say(&talk->parent, 1);
	EXPECT_TRUE(heard(&talk->child, 2)) {
		TH_LOG("the thread: %d", talk->child);
	}
	EXPECT_EQ(0, ue_enable("tasks", false));
	say(&talk->parent, 2);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(ue_gone("tasks"));
}

/* A task that exits while its word is waited for, over and over. */
TEST_F(tasks, exit_during_switches)
{
	int *go = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, (void *)go);
	EXPECT_EQ(0, ue_put(UE_DYN, "u:tasks u32 a"));
	for (int round = 0; round < 50; round++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			bool bad = ue_reg(ue_open(), &self->w[0], 0, "tasks u32 a") ||
				   madvise((void *)self->w, UE_PAGE, MADV_DONTNEED);

			say(go, bad ? -1 : round + 1);
			_exit(bad);
		}
		ASSERT_TRUE(heard(go, round + 1));
		EXPECT_EQ(0, ue_enable("tasks", true));
		EXPECT_EQ(0, ue_enable("tasks", false));
		EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	}
	/* None of them is left. */
	EXPECT_EQ(0, ue_del_wait(self->fd, "tasks"));
}

TEST_HARNESS_MAIN
