#!/bin/bash
# A borrowed GPU's minutes, spent in six calls: bash research/gpu/session.sh STEP, in this order, without a pause.
#   kit           carry build/gpu-kit: prepares it
#   body          carry build/gpu-body, build/gpu-mpnet-0
#   part          carry build/gpu-mpnet-1
#   english       carry build/gpu-mpnet-2: the teacher alone, then one student from it; returns the student
#   multilingual  the multilingual student, from what the teacher said; returns it
#   rest          returns the teacher
# What is trained stays in $P, which the machine keeps between calls; what is to come back goes to $OUT.
P=${P:-$HOME/pincite} PYTHON=${PYTHON:-python3} OUT=${OUT:-$P/out}
ARGS=${ARGS:-}  # for a rehearsal: --rows 24 --steps 2
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true
mkdir -p "$P" "$OUT"

train() { # train NAME ARGUMENTS: in the background, so that it outlives the call
    local name=$1
    shift
    mkdir -p "$P/$name"
    setsid nohup "$PYTHON" "$P/kit/train.py" run "$P/kit" "$P/$name" "$@" $ARGS > "$P/$name.log" 2>&1 < /dev/null &
    echo $! > "$P/$name.pid"
}

look() { # the last lines of every log
    for log in "$P"/*.log; do echo "== $(basename "$log")"; grep -v WARN "$log" | cut -c1-120 | tail -n "${1:-2}"; done
    nvidia-smi --query-gpu=memory.used,utilization.gpu --format=csv,noheader 2> /dev/null
}

ends() { # ends SECONDS NAME: wait until it is done or has failed
    local until=$((SECONDS + $1))
    while [ $SECONDS -lt $until ] && kill -0 "$(cat "$P/$2.pid")" 2> /dev/null; do sleep 1; done
}

logs() { tar -czf "$OUT/logs.tgz" -C "$P" --exclude="*.npz" --exclude=kit --exclude=body --exclude=mpnet --exclude=out .; }

shared="--prepared $P/prepared/prepared.npz --reserve 25"
case $1 in
    kit)
        cp -r build/gpu-kit "$P/kit"
        nvidia-smi --query-gpu=name,memory.total --format=csv,noheader 2> /dev/null
        "$PYTHON" -c "import torch, transformers; print(torch.__version__, transformers.__version__, torch.cuda.is_available())"
        train prepared --prepare
        sleep "${PAUSE:-10}"
        look 3
        ;;
    body)
        cp -r build/gpu-body "$P/body"
        mkdir -p "$P/mpnet" && cp build/gpu-mpnet-0/* "$P/mpnet"
        look
        ;;
    part)
        cp build/gpu-mpnet-1/* "$P/mpnet"
        look
        ;;
    english)
        cp build/gpu-mpnet-2/* "$P/mpnet"
        train english --teacher "$P/mpnet" --teacher-epochs 3 --teacher-share 0.5 --seconds "${ENGLISH_SECONDS:-420}" $shared
        ends "${WAIT_SECONDS:-540}" english
        look 8
        cp "$P"/english/student.*.npz "$OUT"
        logs
        ;;
    multilingual)
        train multilingual --body "$P/body" --answers "$P/english/answers.npz" --seconds "${BODY_SECONDS:-440}" \
            --epochs 8 --rate 1e-4 --past 0.3 $shared
        ends "${WAIT_SECONDS:-540}" multilingual
        look 4
        cp "$P"/multilingual/student.*.npz "$OUT"
        logs
        ;;
    rest) cp "$P"/english/teacher.*.npz "$OUT" ;;
esac
ls -la "$OUT"
