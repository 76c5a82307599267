"""Who broke the job: processes joined to ranks, who waits for whom, and the cause."""
