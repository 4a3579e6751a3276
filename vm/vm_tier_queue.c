/* vm/vm_tier_queue.c - jobs for the plug-in, and the threads that take them.
 *
 * Threads start with the first job.  A link that goes away takes its waiting jobs with it and
 * waits for those at work.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

#include "vm/vm_tier_int.h"

void vm_tier_say(vm_tier *t, const char *form, ...) {
  char line[300];
  if (t->o.log == NULL)
    return;
  va_list args;
  va_start(args, form);
  vsnprintf(line, sizeof line, form, args);
  va_end(args);
  pthread_mutex_lock(&t->loading);
  t->o.log(t->o.user, line);
  pthread_mutex_unlock(&t->loading);
}

typedef struct {
  vm_tier *t;
  uint32_t number;
} worker;

static vm_job *take_job(vm_tier *t, uint32_t number) {
  while (t->first == NULL && !t->ending)
    pthread_cond_wait(&t->work, &t->lock);
  if (t->ending)
    return NULL;
  vm_job *job = t->first;
  t->first = job->next;
  if (t->first == NULL)
    t->last = &t->first;
  t->at_work[number] = job;
  return job;
}

/* Where processors are short, what runs goes before what may run faster later. */
static void be_nice(void) {
#ifdef __linux__
  int now = getpriority(PRIO_PROCESS, 0); /* of this thread alone; no harm where it is denied */
  setpriority(PRIO_PROCESS, 0, now + 10);
#endif
}

static void *work(void *user) {
  worker w = *(worker *)user;
  vm_tier *t = w.t;
  ls_mem_free(t->mem, user, sizeof w);
  be_nice();
  pthread_mutex_lock(&t->lock);
  for (vm_job *job; (job = take_job(t, w.number)) != NULL;) {
    pthread_mutex_unlock(&t->lock);
    vm_job_run(t, job);
    pthread_mutex_lock(&t->lock);
    t->at_work[w.number] = NULL;
    pthread_cond_broadcast(&t->idle);
  }
  pthread_mutex_unlock(&t->lock);
  return NULL;
}

/* The host's signals are for the host's threads. */
static bool start_thread(vm_tier *t) {
  worker *w = ls_mem_alloc(t->mem, sizeof *w);
  if (w == NULL)
    return false;
  *w = (worker){t, t->nthreads};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool fine = pthread_create(&t->thread[t->nthreads], NULL, work, w) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (fine)
    t->nthreads++;
  else
    ls_mem_free(t->mem, w, sizeof *w);
  return fine;
}

/* Under the lock.  Whether there is a thread at all. */
static bool start_threads(vm_tier *t) {
  uint32_t n = t->o.threads;
  if (t->started)
    return t->nthreads > 0;
  t->started = true;
  t->thread = ls_mem_zalloc(t->mem, sizeof *t->thread * n);
  t->at_work = ls_mem_zalloc(t->mem, sizeof *t->at_work * n);
  if (t->thread == NULL || t->at_work == NULL)
    return false;
  while (t->nthreads < n && start_thread(t))
    continue;
  return t->nthreads > 0;
}

void vm_tier_submit(vm_tier *t, vm_job *job) {
  if (t->o.sync) {
    vm_job_run(t, job);
    return;
  }
  pthread_mutex_lock(&t->lock);
  bool fine = start_threads(t);
  if (fine) {
    job->next = NULL;
    *t->last = job;
    t->last = &job->next;
    pthread_cond_signal(&t->work);
  }
  pthread_mutex_unlock(&t->lock);
  if (!fine)
    vm_job_refuse(t, job, "no thread that compiles could be started");
}

static bool is_at_work(const vm_tier *t, const vm_entries *e) {
  for (uint32_t i = 0; i < t->nthreads; i++)
    if (t->at_work[i] && t->at_work[i]->entries == e)
      return true;
  return false;
}

void vm_tier_forget(vm_tier *t, const vm_entries *e) {
  vm_job *gone = NULL;
  pthread_mutex_lock(&t->lock);
  for (vm_job **at = &t->first; *at;) {
    vm_job *job = *at;
    if (job->entries != e) {
      at = &job->next;
      continue;
    }
    *at = job->next;
    job->next = gone;
    gone = job;
  }
  t->last = &t->first;
  while (*t->last)
    t->last = &(*t->last)->next;
  while (is_at_work(t, e))
    pthread_cond_wait(&t->idle, &t->lock);
  pthread_mutex_unlock(&t->lock);
  while (gone) {
    vm_job *next = gone->next;
    vm_job_free(t, gone);
    gone = next;
  }
}

void vm_tier_stop(vm_tier *t) {
  pthread_mutex_lock(&t->lock);
  t->ending = true;
  pthread_cond_broadcast(&t->work);
  pthread_mutex_unlock(&t->lock);
  for (uint32_t i = 0; i < t->nthreads; i++)
    pthread_join(t->thread[i], NULL);
  if (t->thread)
    ls_mem_free(t->mem, t->thread, sizeof *t->thread * t->o.threads);
  if (t->at_work)
    ls_mem_free(t->mem, t->at_work, sizeof *t->at_work * t->o.threads);
}
