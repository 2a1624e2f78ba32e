*** Settings ***
Documentation       The truth table of isolation policies: nine pods of three namespaces on three nodes, policies drawn so that every
...                 two of direction, target, peer, port, stack and step meet, and after each change all 72 pairs of pods with ten
...                 kinds of packets: TCP, UDP, SCTP and ICMP, by IPv4 and IPv6. What policies mean, what desired flows do, what ofproto/trace says on the switches, and what real
...                 packets do must be the same. The rest is drawn at random: robot -v SEED:7 -v RANDOM:100000 takes no end.
Resource            ../resources/coeus.resource
Library             ByHand
Library             Traffic
Library             TruthTable
Suite Setup         Start Nine Pods
Suite Teardown      Stop Everything

*** Variables ***
${SEED}             1
${CASES}            200
${RANDOM}           20
@{NAMESPACES}       blue    red    green

*** Test Cases ***
Without Policies All Answers Agree
    All Answers Should Agree

Every Two Of What Policies Are Made Of
    Try Cases    ${CASES}
    ${never}=    Pairs That Never Met
    Log    never met: ${never}
    Run Keyword If    ${CASES} >= 200    Should Be Empty    ${never}

Anything At Random
    Try Cases    ${RANDOM}    at random

From PUT To The Last Cell
    ${lines}=    Distribution
    Log    seconds from a change to the last cell right\n${lines}    console=yes

The Switches Are As From Scratch
    Tables Should Be As From Scratch

The Table Can Be Found Wrong
    [Documentation]    A policy of one label, which a pod is then thought to have; and a switch that lost the table of rules.
    Try One Rule    blue    app=only
    All Answers Should Agree
    Think That    blue:p1    app=only
    Run Keyword And Expect Error    *the evaluator of policies has * wrong*    All Answers Should Agree
    Run Keyword And Expect Error    *packets have * wrong*    Packets Alone Should Agree    1
    Think That    blue:p1    app=other
    Break Switch    1    del-flows    table=220
    Run Keyword And Expect Error    *ofproto/trace has * wrong*    All Answers Should Agree

*** Keywords ***
Start Nine Pods
    # What is broken by hand stays broken.
    Start Lab And Session    3    --audit-seconds    0
    FOR    ${node}    IN    1    2    3
        Announce Node    ${node}    10.11.${node}.0/24
    END
    FOR    ${index}    ${namespace}    IN ENUMERATE    @{NAMESPACES}    start=1
        ${body}=    VPN Body    ${namespace}    7:${index}    64512:1    64512:1
        PUT On Session    coeus    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/${namespace}    json=${body}    expected_status=201
        FOR    ${node}    IN    1    2    3
            Create And Plug Pod    p${node}    ${namespace}    ${node}    10.1${index}.${node}.10    10.1${index}.${node}.1
        END
    END
    Wait For Switches
    Start Truth Table    ${SEED}

Stop Everything
    Stop Truth Table
    Stop Lab
