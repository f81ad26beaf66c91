/** SQL for the worker of an attempt `a`: the name of its claim is `<worker>:<number of the claim>`. */
export const workerOf = String.raw`regexp_replace(a.worker, ':\d+$', '')`
