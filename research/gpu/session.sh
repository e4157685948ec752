#!/bin/bash
# A borrowed GPU's minutes, spent in five calls: bash research/gpu/session.sh STEP, in this order, without a pause.
#   kit      carry build/gpu-kit: prepares it, then trains the ablations meanwhile
#   body     carry build/gpu-body, build/gpu-mpnet-0: the multilingual student begins
#   part     carry build/gpu-mpnet-1
#   teacher  carry build/gpu-mpnet-2: the teacher, then two English students; returns the multilingual one
#   english  and  rest: return the other weights
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
}

look() { # the last lines of every log
    for log in "$P"/*.log; do echo "== $(basename "$log")"; grep -v WARN "$log" | cut -c1-120 | tail -n "${1:-2}"; done
    nvidia-smi --query-gpu=memory.used,utilization.gpu --format=csv,noheader 2> /dev/null
}

ends() { # ends SECONDS NAME...: wait until all of them are done or have failed
    local until=$((SECONDS + $1))
    shift
    for name in "$@"; do
        while [ $SECONDS -lt $until ] && ! grep -qE "  done$|Error|Exit|exited" "$P/$name.log" 2> /dev/null; do sleep 1; done
    done
}

case $1 in
    kit)
        cp -r build/gpu-kit "$P/kit"
        nvidia-smi --query-gpu=name,memory.total --format=csv,noheader 2> /dev/null
        "$PYTHON" -c "import torch, transformers; print(torch.__version__, transformers.__version__, torch.cuda.is_available())"
        train prepared --prepare
        few="--prepared $P/prepared/prepared.npz --epochs ${ABLATION_EPOCHS:-1.5} --seconds ${ABLATION_SECONDS:-240} --reserve 20"
        train ablation-all $few
        train ablation-written $few --without written own_a own_b own_c own_d
        train ablation-contrast $few --without contrast
        train ablation-tables $few --without infotabs tabfact_pairs
        train ablation-pages $few --without fever_eraser fever_nei_pages fever_sentences feverous_dev
        sleep "${PAUSE:-20}"
        look 3
        ;;
    body)
        cp -r build/gpu-body "$P/body"
        mkdir -p "$P/mpnet" && cp build/gpu-mpnet-0/* "$P/mpnet"
        train multilingual --body "$P/body" --prepared "$P/prepared/prepared.npz" --answers "$P/english/answers.npz" \
            --seconds "${BODY_SECONDS:-440}" --reserve 45 --epochs 8 --rate 1e-4 --past 0.3
        sleep "${PAUSE:-8}"
        look
        ;;
    part)
        cp build/gpu-mpnet-1/* "$P/mpnet"
        look
        ;;
    teacher)
        cp build/gpu-mpnet-2/* "$P/mpnet"
        shared="--prepared $P/prepared/prepared.npz --reserve 25"
        train english --teacher "$P/mpnet" --teacher-epochs 3 --teacher-share 0.45 --seconds "${ENGLISH_SECONDS:-380}" $shared
        train gentle --answers "$P/english/answers.npz" --wait-share 0.8 --seconds "${ENGLISH_SECONDS:-380}" $shared \
            --rate 3e-5 --epochs 4 --seed 18
        for _ in $(seq "${LOOKS:-10}"); do sleep "${LOOK_SECONDS:-40}"; echo "-- $SECONDS s"; look 1; done &
        ends "${TEACHER_SECONDS:-520}" english gentle multilingual
        kill %% 2> /dev/null
        look 4
        cp "$P"/multilingual/student.*.npz "$P/mpnet"/../english/teacher.0.npz "$OUT"
        tar -czf "$OUT/logs.tgz" -C "$P" --exclude="*.npz" --exclude=kit --exclude=body --exclude=mpnet --exclude=out .
        ;;
    english)
        cp "$P"/english/student.*.npz "$P"/english/teacher.1.npz "$OUT"
        tar -czf "$OUT/logs.tgz" -C "$P" --exclude="*.npz" --exclude=kit --exclude=body --exclude=mpnet --exclude=out .
        ;;
    rest) cp "$P"/english/teacher.[2-9].npz "$OUT" ;;
    gentle) cp "$P"/gentle/student.*.npz "$OUT" ;;
esac
ls -la "$OUT"
