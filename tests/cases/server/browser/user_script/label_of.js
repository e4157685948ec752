(p, words) => {
    const dots = [...p.querySelectorAll('.pincite-dot')];
    const before = (dot) => {
        const range = document.createRange();
        range.setStart(p, 0);
        range.setEndBefore(dot);
        return range.toString();
    };
    return dots.find((dot) => before(dot).includes(words)).className;
}
